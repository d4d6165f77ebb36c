#include "workloads/model/description.hpp"

namespace tandem {

std::int64_t TensorDescription::elements() const {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return count;
}

std::int64_t ModelDescription::elements() const {
  std::int64_t sum = 0;
  for (const auto& bucket : buckets) sum += bucket.elements();
  return sum;
}

std::int64_t ModelDescription::parameters() const {
  std::int64_t sum = 0;
  for (const auto& bucket : buckets) sum += bucket.parameters;
  return sum;
}

Flops ModelDescription::forward() const {
  Flops sum;
  for (const auto& bucket : buckets) sum += bucket.forward;
  return sum;
}

Flops ModelDescription::backward() const {
  Flops sum;
  for (const auto& bucket : buckets) sum += bucket.backward;
  return sum;
}

}  // namespace tandem

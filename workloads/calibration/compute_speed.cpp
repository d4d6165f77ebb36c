#include "workloads/calibration/compute_speed.hpp"

#include <algorithm>

#include "workloads/cost/cost_model.hpp"

namespace tandem {

BytesPerSecond rate_between(std::int64_t small_bytes, double small_s, std::int64_t large_bytes,
                            double large_s) {
  const double added_s = std::max(large_s - small_s, 0.1 * large_s);
  return BytesPerSecond(static_cast<double>(large_bytes - small_bytes) / added_s);
}

ComputeSpeed compute_speed(const std::vector<Profile::ComputeEntry>& entries, const ModelDescription& model) {
  double step_flops = 0;
  double step_s = 0;
  std::vector<Profile::ComputeEntry> updates;
  for (const auto& entry : entries) {
    if (entry.kind == Work::Kind::update) updates.push_back(entry);
    if (entry.kind != Work::Kind::forward && entry.kind != Work::Kind::backward) continue;
    const Flops flops = entry.kind == Work::Kind::forward
                            ? model.forward()
                            : model.buckets.at(static_cast<std::size_t>(entry.bucket)).backward;
    step_flops += flops.count() * entry.samples;
    step_s += entry.median_s;
  }
  const auto by_size = [](const auto& a, const auto& b) { return a.bytes < b.bytes; };
  const auto [small, large] = std::minmax_element(updates.begin(), updates.end(), by_size);
  const BytesPerSecond updated = rate_between(small->bytes, small->median_s, large->bytes, large->median_s);
  return {FlopsPerSecond(step_flops / step_s), BytesPerSecond(streams_of_update * updated.count())};
}

}  // namespace tandem

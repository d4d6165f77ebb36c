#include "workloads/optimizer.hpp"

#include <algorithm>
#include <iterator>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

struct Step {
  float scale;
  float learning_rate;
  float momentum;
  float weight_decay;
};

// Free functions over restrict pointers, so that the compiler turns the loops into vector instructions.
void step_plain(float* __restrict model, const float* __restrict gradient, std::size_t count, Step step) {
  for (std::size_t i = 0; i < count; ++i)
    model[i] -= step.learning_rate * (step.scale * gradient[i] + step.weight_decay * model[i]);
}

void step_with_momentum(float* __restrict model, const float* __restrict gradient, float* __restrict velocity,
                        std::size_t count, Step step) {
  for (std::size_t i = 0; i < count; ++i) {
    velocity[i] = step.momentum * velocity[i] + (step.scale * gradient[i] + step.weight_decay * model[i]);
    model[i] -= step.learning_rate * velocity[i];
  }
}

/// Start and length of the overlap of two stretches; length 0 when there is none.
struct Overlap {
  std::int64_t begin;
  std::int64_t length;
};

Overlap overlap(std::int64_t begin, std::int64_t length, std::int64_t other_begin,
                std::int64_t other_length) {
  const std::int64_t start = std::max(begin, other_begin);
  const std::int64_t end = std::min(begin + length, other_begin + other_length);
  return {start, std::max<std::int64_t>(0, end - start)};
}

}  // namespace

Sgd::Sgd(double learning_rate, double momentum, double weight_decay, std::int64_t elements,
         std::int64_t first)
    : learning_rate_(static_cast<float>(learning_rate)),
      momentum_(static_cast<float>(momentum)),
      weight_decay_(static_cast<float>(weight_decay)),
      first_(first),
      elements_(elements),
      velocity_(momentum > 0.0 ? static_cast<std::size_t>(elements) : 0) {}

void Sgd::apply(std::span<float> model, std::span<const float> gradient, double scale) {
  TANDEM_CHECK(std::ssize(model) == elements_, model.size(), elements_);
  apply(model, gradient, scale, first_);
}

void Sgd::apply(std::span<float> model, std::span<const float> gradient, double scale,
                std::int64_t position) {
  TANDEM_CHECK(model.size() == gradient.size(), model.size(), gradient.size());
  TANDEM_CHECK(position >= first_ && position + std::ssize(model) <= first_ + elements_, "position", position,
               "size", model.size(), "first", first_, "elements", elements_);
  const Step step{static_cast<float>(scale), learning_rate_, momentum_, weight_decay_};
  if (velocity_.empty())
    step_plain(model.data(), gradient.data(), model.size(), step);
  else
    step_with_momentum(model.data(), gradient.data(), velocity_.data() + (position - first_), model.size(),
                       step);
}

void apply_update(Sgd& sgd, const ModelDescription& description, std::int64_t position,
                  std::span<float> model, std::span<const float> gradient, double scale) {
  TANDEM_CHECK(model.size() == gradient.size(), model.size(), gradient.size());
  TANDEM_CHECK(position >= 0 && position + std::ssize(model) <= description.elements(), "position", position,
               "size", model.size(), "elements", description.elements());
  const auto length = std::ssize(model);
  for (const auto& bucket : description.buckets) {
    const auto trained = overlap(position, length, bucket.offset, bucket.parameters);
    if (trained.length > 0) {
      const auto from = static_cast<std::size_t>(trained.begin - position);
      const auto count = static_cast<std::size_t>(trained.length);
      sgd.apply(model.subspan(from, count), gradient.subspan(from, count), scale, trained.begin);
    }
    const auto statistics = overlap(position, length, bucket.offset + bucket.parameters, bucket.statistics);
    for (std::int64_t at = statistics.begin; at < statistics.begin + statistics.length; ++at) {
      const auto index = static_cast<std::size_t>(at - position);
      model[index] = static_cast<float>(scale) * gradient[index];
    }
  }
}

}  // namespace tandem

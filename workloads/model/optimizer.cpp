#include "workloads/model/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/device_state.hpp"

namespace tandem {
namespace {

/// Checks that [first, first + elements) contains a stretch of `size` at `position`.
void check_stretch(std::size_t size, std::size_t gradient_size, std::int64_t position, std::int64_t first,
                   std::int64_t elements) {
  TANDEM_CHECK(size == gradient_size, size, gradient_size);
  TANDEM_CHECK(position >= first && position + static_cast<std::int64_t>(size) <= first + elements,
               "position", position, "size", size, "first", first, "elements", elements);
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
         std::int64_t first, bool nesterov, ComputeDevice& device)
    : device_(&device),
      learning_rate_(static_cast<float>(learning_rate)),
      momentum_(static_cast<float>(momentum)),
      weight_decay_(static_cast<float>(weight_decay)),
      nesterov_(nesterov),
      first_(first),
      elements_(elements),
      velocity_(device, momentum > 0.0 ? static_cast<std::size_t>(elements) : 0) {}

void Sgd::apply(std::span<float> model, std::span<const float> gradient, double scale) {
  TANDEM_CHECK(std::ssize(model) == elements_, model.size(), elements_);
  apply(model, gradient, scale, first_);
}

void Sgd::apply(std::span<float> model, std::span<const float> gradient, double scale,
                std::int64_t position) {
  const UpdateStretch all{0, std::ssize(model), 0};
  apply(model, gradient, {.scale = scale}, position, {&all, 1});
}

void Sgd::apply(std::span<float> model, std::span<const float> gradient, const SumFactors& factors,
                std::int64_t position, std::span<const UpdateStretch> stretches) {
  check_stretch(model.size(), gradient.size(), position, first_, elements_);
  const SgdStep step{.scale = static_cast<float>(factors.scale),
                     .learning_rate = learning_rate_,
                     .momentum = momentum_,
                     .weight_decay = weight_decay_,
                     .nesterov = nesterov_,
                     .share = static_cast<float>(factors.share),
                     .average = static_cast<float>(factors.statistics)};
  float* const velocity = velocity_.empty() ? nullptr : velocity_.data() + (position - first_);
  device_->sgd_over(model.data(), gradient.data(), velocity, stretches, step);
}

void Sgd::serialise(StateArchive& state) {
  serialise_floats(state, "optimizer.velocity", *device_, velocity_.span());
}

Adam::Adam(const OptimizerSetting& setting, std::int64_t elements, std::int64_t first, ComputeDevice& device)
    : device_(&device),
      beta1_(setting.beta1),
      beta2_(setting.beta2),
      weight_decay_(setting.weight_decay),
      epsilon_(static_cast<float>(setting.epsilon)),
      decoupled_(setting.kind == OptimizerSetting::Kind::adamw),
      first_(first),
      elements_(elements),
      mean_(device, static_cast<std::size_t>(elements)),
      square_(device, static_cast<std::size_t>(elements)) {}

void Adam::begin_update(double learning_rate) {
  learning_rate_ = learning_rate;
  ++updates_;
}

void Adam::apply(std::span<float> model, std::span<const float> gradient, const SumFactors& factors,
                 std::int64_t position, std::span<const UpdateStretch> stretches) {
  check_stretch(model.size(), gradient.size(), position, first_, elements_);
  TANDEM_CHECK(updates_ > 0, "no update has begun");
  const auto updates = static_cast<double>(updates_);
  const double kept = decoupled_ ? 1.0 - learning_rate_ * weight_decay_ : 1.0;
  const AdamStep step{.scale = static_cast<float>(factors.scale),
                      .kept = static_cast<float>(kept),
                      .weight_decay = decoupled_ ? 0.0F : static_cast<float>(weight_decay_),
                      .beta1 = static_cast<float>(beta1_),
                      .beta2 = static_cast<float>(beta2_),
                      .new_mean = static_cast<float>(1.0 - beta1_),
                      .new_square = static_cast<float>(1.0 - beta2_),
                      .rate = static_cast<float>(learning_rate_ / (1.0 - std::pow(beta1_, updates))),
                      .root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(beta2_, updates))),
                      .epsilon = epsilon_,
                      .share = static_cast<float>(factors.share),
                      .average = static_cast<float>(factors.statistics)};
  device_->adam_over(model.data(), gradient.data(), mean_.data() + (position - first_),
                     square_.data() + (position - first_), stretches, step);
}

void Adam::serialise(StateArchive& state) {
  state.number("optimizer.updates", updates_);
  serialise_floats(state, "optimizer.mean", *device_, mean_.span());
  serialise_floats(state, "optimizer.square", *device_, square_.span());
}

Optimizer::Optimizer(const OptimizerSetting& setting, std::int64_t elements, std::int64_t first,
                     ComputeDevice& device)
    : learning_rate_(setting.learning_rate),
      schedule_(setting.schedule),
      rule_(setting.kind == OptimizerSetting::Kind::sgd
                ? std::variant<Sgd, Adam>(Sgd(setting.learning_rate, setting.momentum, setting.weight_decay,
                                              elements, first, setting.nesterov, device))
                : std::variant<Sgd, Adam>(Adam(setting, elements, first, device))) {}

void Optimizer::begin_update(UpdateTime time, double weight) {
  const double rate = rate_at(time);
  if (auto* adam = std::get_if<Adam>(&rule_)) return adam->begin_update(rate * weight);
  std::get<Sgd>(rule_).set_learning_rate(rate);
  gradient_weight_ = weight;
}

void Optimizer::apply(std::span<float> model, std::span<const float> gradient, double scale,
                      std::int64_t position) {
  const UpdateStretch all{0, std::ssize(model), 0};
  apply(model, gradient, {.scale = scale}, position, {&all, 1});
}

void Optimizer::apply(std::span<float> model, std::span<const float> gradient, const SumFactors& factors,
                      std::int64_t position, std::span<const UpdateStretch> stretches) {
  SumFactors weighted = factors;
  weighted.scale *= gradient_weight_;
  std::visit([&](auto& rule) { rule.apply(model, gradient, weighted, position, stretches); }, rule_);
}

void Optimizer::serialise(StateArchive& state) {
  std::visit([&](auto& rule) { rule.serialise(state); }, rule_);
}

template <class Rule>
void apply_update(Rule& rule, const ModelDescription& description, std::int64_t position,
                  std::span<float> model, std::span<const float> gradient, double scale) {
  TANDEM_CHECK(model.size() == gradient.size(), model.size(), gradient.size());
  TANDEM_CHECK(position >= 0 && position + std::ssize(model) <= description.elements(), "position", position,
               "size", model.size(), "elements", description.elements());
  const auto length = std::ssize(model);
  std::vector<UpdateStretch> stretches;
  for (const auto& bucket : description.buckets) {
    const auto trained = overlap(position, length, bucket.offset, bucket.parameters);
    const auto statistics =
        overlap(position, length, bucket.offset + bucket.parameters, bucket.exchanged() - bucket.parameters);
    if (trained.length + statistics.length == 0) continue;
    const std::int64_t begin = trained.length > 0 ? trained.begin : statistics.begin;
    stretches.push_back({begin - position, trained.length, statistics.length});
  }
  rule.apply(model, gradient, {.scale = scale, .statistics = scale}, position, stretches);
}

template void apply_update(Sgd&, const ModelDescription&, std::int64_t, std::span<float>,
                           std::span<const float>, double);
template void apply_update(Optimizer&, const ModelDescription&, std::int64_t, std::span<float>,
                           std::span<const float>, double);

}  // namespace tandem

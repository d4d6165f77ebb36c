#include "workloads/model/update_rules.hpp"

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/device_state.hpp"

namespace tandem {
DelayCompensator::DelayCompensator(const sync::UpdateRule& rule, std::int64_t elements, ComputeDevice& device)
    : device_(&device) {
  const auto* compensation = std::get_if<sync::DelayCompensation>(&rule);
  if (compensation == nullptr) return;
  active_ = true;
  rule_ = *compensation;
  if (rule_.adaptive) mean_square_ = FloatArray(device, static_cast<std::size_t>(elements));
}

void DelayCompensator::correct(std::span<float> gradient, std::span<const float> model,
                               std::span<const float> older, std::int64_t position) {
  if (!active_) return;
  TANDEM_CHECK(gradient.size() == model.size() && model.size() == older.size(), gradient.size(), model.size(),
               older.size());
  float* const mean_square = rule_.adaptive ? mean_square_.data() + position : nullptr;
  device_->compensate(gradient.data(), model.data(), older.data(), mean_square, std::ssize(gradient),
                      {static_cast<float>(rule_.lambda), static_cast<float>(rule_.memory)});
}

void DelayCompensator::serialise(StateArchive& state) {
  serialise_floats(state, "compensation.mean_square", *device_, mean_square_.span());
}

ChangeUpdate::ChangeUpdate(const sync::UpdateRule& rule, double global_rate, std::int64_t elements,
                           ComputeDevice& device)
    : device_(&device), rate_(global_rate) {
  if (const auto* tie = std::get_if<sync::ElasticTie>(&rule)) {
    rate_ = tie->pull;  // the same share that the workers lose
    takes_sum_ = true;
  }
  const auto* outer = std::get_if<sync::OuterMomentum>(&rule);
  if (outer == nullptr) return;
  rate_ *= outer->rate;
  momentum_ = static_cast<float>(outer->momentum);
  kept_ = momentum_;
  nesterov_ = outer->nesterov;
  follows_learning_rate_ = outer->follows_learning_rate;
  if (outer->momentum > 0.0) velocity_ = FloatArray(device, static_cast<std::size_t>(elements));
}

void ChangeUpdate::begin_update(double learning_rate) {
  if (!follows_learning_rate_) return;
  const double ratio = learning_rate_ > 0.0 ? learning_rate / learning_rate_ : 1.0;
  kept_ = static_cast<float>(ratio) * momentum_;
  learning_rate_ = learning_rate;
}

void ChangeUpdate::apply(std::span<float> model, std::span<const float> base, std::span<const float> sum,
                         double share, double scale, std::int64_t position) {
  const UpdateStretch all{0, std::ssize(model), 0};
  apply(model, base, sum, share, scale, position, {&all, 1}, /*average=*/1.0);
}

void ChangeUpdate::apply(std::span<float> model, std::span<const float> base, std::span<const float> sum,
                         double share, double scale, std::int64_t position,
                         std::span<const UpdateStretch> stretches, double average) {
  TANDEM_CHECK(model.size() == base.size() && base.size() == sum.size(), model.size(), base.size(),
               sum.size());
  if (takes_sum_) share = 1.0;
  float* const velocity = velocity_.empty() ? nullptr : velocity_.data() + position;
  device_->move_over(model.data(), base.data(), sum.data(), velocity, stretches,
                     {.share = static_cast<float>(share),
                      .rate = static_cast<float>(rate_ * scale),
                      .kept = kept_,
                      .momentum = momentum_,
                      .nesterov = nesterov_,
                      .average = static_cast<float>(average)});
}

void ChangeUpdate::serialise(StateArchive& state) {
  state.number("outer.learning_rate", learning_rate_);
  serialise_floats(state, "outer.velocity", *device_, velocity_.span());
}

}  // namespace tandem

#include "workloads/update_rules.hpp"

#include <cmath>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

/// Keeps the adaptive lambda finite. Source: Zheng et al., ICML 2017.
constexpr float smallest_mean_square = 1e-7F;

}  // namespace

DelayCompensator::DelayCompensator(const sync::UpdateRule& rule, std::int64_t elements) {
  const auto* compensation = std::get_if<sync::DelayCompensation>(&rule);
  if (compensation == nullptr) return;
  active_ = true;
  rule_ = *compensation;
  if (rule_.adaptive) mean_square_.resize(static_cast<std::size_t>(elements));
}

void DelayCompensator::correct(std::span<float> gradient, std::span<const float> model,
                               std::span<const float> older, std::int64_t position) {
  if (!active_) return;
  TANDEM_CHECK(gradient.size() == model.size() && model.size() == older.size(), gradient.size(), model.size(),
               older.size());
  const auto lambda = static_cast<float>(rule_.lambda);
  const auto memory = static_cast<float>(rule_.memory);
  const auto first = static_cast<std::size_t>(position);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float square = gradient[i] * gradient[i];
    float strength = lambda;
    if (rule_.adaptive) {
      float& mean = mean_square_[first + i];
      mean = memory * mean + (1.0F - memory) * square;
      strength = lambda / std::sqrt(mean + smallest_mean_square);
    }
    gradient[i] += strength * square * (model[i] - older[i]);
  }
}

void DelayCompensator::remember(StateArchive& state) {
  state.floats("compensation.mean_square", mean_square_);
}

ChangeUpdate::ChangeUpdate(const sync::UpdateRule& rule, double global_rate, std::int64_t elements)
    : rate_(global_rate) {
  if (const auto* tie = std::get_if<sync::ElasticTie>(&rule)) {
    rate_ = tie->pull;  // as much as the workers give up
    takes_sum_ = true;
  }
  const auto* outer = std::get_if<sync::OuterMomentum>(&rule);
  if (outer == nullptr) return;
  rate_ *= outer->rate;
  momentum_ = static_cast<float>(outer->momentum);
  kept_ = momentum_;
  nesterov_ = outer->nesterov;
  follows_learning_rate_ = outer->follows_learning_rate;
  if (outer->momentum > 0.0) velocity_.resize(static_cast<std::size_t>(elements));
}

void ChangeUpdate::begin_update(double learning_rate) {
  if (!follows_learning_rate_) return;
  const double ratio = learning_rate_ > 0.0 ? learning_rate / learning_rate_ : 1.0;
  kept_ = static_cast<float>(ratio) * momentum_;
  learning_rate_ = learning_rate;
}

void ChangeUpdate::apply(std::span<float> model, std::span<const float> base, std::span<const float> sum,
                         double share, double scale, std::int64_t position) {
  TANDEM_CHECK(model.size() == base.size() && base.size() == sum.size(), model.size(), base.size(),
               sum.size());
  if (takes_sum_) share = 1.0;
  if (velocity_.empty()) {
    const auto rate = static_cast<float>(share) * static_cast<float>(rate_ * scale);
    for (std::size_t i = 0; i < model.size(); ++i) model[i] = base[i] + rate * sum[i];
    return;
  }
  const auto rate = static_cast<float>(rate_ * scale);
  const auto first = static_cast<std::size_t>(position);
  for (std::size_t i = 0; i < model.size(); ++i) {
    const float change = static_cast<float>(share) * sum[i];
    float& velocity = velocity_[first + i];
    velocity = kept_ * velocity + change;
    model[i] = base[i] + rate * (nesterov_ ? change + momentum_ * velocity : velocity);
  }
}

void ChangeUpdate::remember(StateArchive& state) {
  state.number("outer.learning_rate", learning_rate_);
  state.floats("outer.velocity", velocity_);
}

}  // namespace tandem

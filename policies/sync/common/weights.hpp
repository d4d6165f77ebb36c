// How much each worker's push counts in the mean.
#pragma once

#include <string>
#include <utility>

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// The option of every algorithm that offers a choice of weights.
inline OptionSpec weights_option() {
  return {.name = "weights",
          .summary = "weight of a worker's change in the mean: equal, or by its samples or local steps",
          .default_value = std::string("uniform"),
          .choices = {"uniform", "samples", "steps"}};
}

inline double weight_of(const std::string& weights, int samples, int local_steps) {
  if (weights == "samples") return samples;
  return weights == "steps" ? local_steps : 1.0;
}
inline double weight_of(const std::string& weights, const Push& push) {
  return weight_of(weights, push.samples, push.local_steps);
}

/// The local steps of a worker's round, and how much its change counts. Without a server, each worker states
/// its weight.
class RoundWeight {
 public:
  /// `weights`: a choice of weights_option(). `may_pass`: other workers may pass the round, with weight 0.
  explicit RoundWeight(std::string weights, bool may_pass = false)
      : weights_(std::move(weights)), is_stated_(weights_ != "uniform" || may_pass) {}

  /// An event that is decided again, because the members have changed, counts once.
  void add(const StepDone& step) {
    if (step.local_steps > 1 && step.local_steps == local_steps_) return;
    samples_ = step.samples + (step.local_steps == 1 ? 0 : samples_);
    local_steps_ = step.local_steps;
  }
  /// How workers exchange the change. No weight is stated if all are equal: then none is exchanged.
  Exchange exchange() const {
    Exchange exchange{Payload::change};
    if (is_stated_) exchange.weight = weight_of(weights_, samples_, local_steps_);
    return exchange;
  }
  void serialise(PolicyState& state) {
    state.value("samples", samples_);
    state.value("local_steps", local_steps_);
  }

 private:
  std::string weights_;
  bool is_stated_;
  int samples_ = 0;
  int local_steps_ = 0;
};

}  // namespace tandem::sync

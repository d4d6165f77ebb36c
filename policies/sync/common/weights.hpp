// How much each worker's push counts in the mean.
#pragma once

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

}  // namespace tandem::sync

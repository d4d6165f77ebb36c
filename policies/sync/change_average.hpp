// How much each worker's push counts in the mean.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// The option that all of them offer.
inline OptionSpec weights_option() {
  return {.name = "weights",
          .summary = "weight of a worker's change in the mean",
          .default_value = std::string("uniform"),
          .choices = {"uniform", "samples", "steps"}};
}

inline double weight_of(const std::string& weights, const Push& push) {
  if (weights == "samples") return static_cast<double>(push.samples);
  if (weights == "steps") return static_cast<double>(push.local_steps);
  return 1.0;
}

}  // namespace tandem::sync

// Synchronisation algorithms with random options, drawn until the algorithm accepts them.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/sync_runs.hpp"

namespace tandem::testing {

inline OptionValue random_value(const OptionSpec& spec, Rng& random) {
  if (std::holds_alternative<bool>(spec.default_value)) return random.below(2) == 1;
  if (!spec.choices.empty()) return spec.choices[random.below(spec.choices.size())];
  // Free text, as names of hosts.
  if (std::holds_alternative<std::string>(spec.default_value)) return spec.default_value;
  if (std::holds_alternative<double>(spec.default_value))
    return spec.minimum + random.uniform() * std::min(1.0, spec.maximum - spec.minimum);
  const auto range = static_cast<std::uint64_t>(std::min(6.0, spec.maximum - spec.minimum));
  return static_cast<std::int64_t>(spec.minimum) + static_cast<std::int64_t>(random.below(range + 1));
}

inline std::map<std::string, OptionValue> random_options(const std::string& algorithm, Rng& random) {
  std::map<std::string, OptionValue> options;
  for (const auto& spec : sync::catalog().find(algorithm).options)
    if (random.below(4) > 0) options[spec.name] = random_value(spec, random);
  return options;
}

/// A run of an algorithm that has servers.
inline PolicyRun random_run(const std::string& algorithm, std::uint64_t seed) {
  Rng random = Rng::stream(seed, algorithm);
  for (;;) {
    const auto options = random_options(algorithm, random);
    auto durations = random_durations(random);
    if (const int most = sync::catalog().find(algorithm).make.most_workers; most > 0)
      durations.resize(static_cast<std::size_t>(most));
    try {
      return PolicyRun(algorithm, durations, options, Rng::stream(seed, "steps"));
    } catch (const ConfigError&) {
      continue;
    }
  }
}

/// A setting of any algorithm.
inline sync::Setting random_setting(const std::string& algorithm, Rng& random) {
  const auto& entry = sync::catalog().find(algorithm);
  for (;;) {
    const int most = entry.make.most_workers;
    const sync::Setting setting{
        .workers = most > 0 ? most : 2 + static_cast<int>(random.below(7)),
        .batch = 8,
        .route = entry.make.routes.front(),
        .options = Options::resolve(algorithm, entry.options, random_options(algorithm, random)),
        .seed = random.next()};
    try {
      entry.make.make_worker(setting, 0);
      if (entry.make.make_server != nullptr) entry.make.make_server(setting);
      return setting;
    } catch (const ConfigError&) {
      continue;
    }
  }
}

}  // namespace tandem::testing

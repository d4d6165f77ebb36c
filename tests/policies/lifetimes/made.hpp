// Made lifetimes with known parameters, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "policies/lifetimes/catalog.hpp"
#include "policies/lifetimes/estimate/survival.hpp"

namespace tandem::lifetimes {

using Given = std::map<std::string, OptionValue>;

inline std::vector<double> drawn(const std::string& model, const Given& options, std::size_t count,
                                 std::uint64_t seed) {
  const auto lifetime = make_lifetime(model, options);
  std::vector<double> values;
  Rng rng = Rng::stream(seed, "made lifetimes");
  for (std::size_t i = 0; i < count; ++i) values.push_back(lifetime->draw(rng));
  return values;
}

/// Machines that their users stop after exponential times, whose mean is such that about half of them are
/// revoked before if `stop_mean` is the mean lifetime.
inline std::vector<Observation> observed(const std::vector<double>& lifetimes, double stop_mean,
                                         std::uint64_t seed) {
  std::vector<Observation> observations;
  Rng rng = Rng::stream(seed, "stops");
  for (const double lifetime : lifetimes) {
    const double stop = -stop_mean * std::log(1.0 - rng.uniform());
    observations.push_back({.duration = std::min(lifetime, stop), .died = lifetime <= stop});
  }
  return observations;
}

/// The same, if of every second machine that died only the multiples of `width` are known between which it
/// did.
inline std::vector<Observation> half_in_intervals(std::vector<Observation> observations, double width) {
  bool second = false;
  for (auto& one : observations) {
    if (!one.died || (second = !second)) continue;
    one.alive_at = std::max(one.entry, width * std::floor(one.duration / width));
    one.duration = width * (std::floor(one.duration / width) + 1.0);
  }
  return observations;
}

inline double share_of_deaths(const std::vector<Observation>& observations) {
  double deaths = 0.0;
  for (const auto& one : observations) deaths += one.died ? 1.0 : 0.0;
  return deaths / static_cast<double>(observations.size());
}

}  // namespace tandem::lifetimes

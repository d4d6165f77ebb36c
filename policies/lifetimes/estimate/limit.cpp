#include "policies/lifetimes/estimate/limit.hpp"

#include <algorithm>
#include <utility>

namespace tandem::lifetimes {
namespace {

constexpr double tolerance = 1e-3;  ///< of the limit: providers take some seconds to end a machine
constexpr double fewest_ends = 5.0;
constexpr double least_share = 0.02;
constexpr double times_any_other = 3.0;

/// At a known age.
bool ends(const Observation& one) { return one.at_limit || (one.died && !one.alive_at); }

bool is_at(const CommonLimit& limit, const Observation& one) {
  return one.duration >= limit.age * (1.0 - tolerance);
}

/// The largest number of ends within any `width` of ages. Pre: `ages` are sorted.
double most_within(const std::vector<std::pair<double, double>>& ages, double width) {
  double most = 0.0, inside = 0.0;
  auto first = ages.begin();
  for (const auto& [age, weight] : ages) {
    inside += weight;
    for (; age - first->first > width; ++first) inside -= first->second;
    most = std::max(most, inside);
  }
  return most;
}

}  // namespace

std::optional<CommonLimit> common_limit(const std::vector<Observation>& observations) {
  CommonLimit limit;
  for (const auto& one : observations) limit.age = std::max(limit.age, one.duration);
  std::vector<std::pair<double, double>> earlier;
  double all = 0.0;
  bool dies_earlier = false;
  for (const auto& one : observations) {
    const bool is_there = is_at(limit, one);
    if (one.died && !is_there) dies_earlier = true;
    if (!ends(one)) continue;
    all += one.weight;
    if (is_there)
      limit.ends += one.weight;
    else
      earlier.emplace_back(one.duration, one.weight);
  }
  if (!dies_earlier || limit.ends < std::max(fewest_ends, least_share * all)) return std::nullopt;
  std::ranges::sort(earlier);
  if (limit.ends < times_any_other * most_within(earlier, limit.age * tolerance)) return std::nullopt;
  return limit;
}

std::vector<Observation> censored_at(const CommonLimit& limit, std::vector<Observation> observations) {
  for (auto& one : observations)
    if (ends(one) && is_at(limit, one)) one.died = false;
  return observations;
}

}  // namespace tandem::lifetimes

// Ranks the variants of a group by throughput, and computes their speed-ups over the group's bsp: in
// throughput, and in time to an accuracy.
#include <fmt/format.h>

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "validation/compare/summary.hpp"

namespace tandem::validation {
namespace {

using Configurations = std::vector<const Compared*>;

/// 1 + the number of faster ones; equal ones share a place.
std::vector<int> places(const std::vector<double>& throughput) {
  std::vector<int> result;
  for (const double own : throughput)
    result.push_back(1 + static_cast<int>(std::count_if(throughput.begin(), throughput.end(),
                                                        [own](double other) { return other > own; })));
  return result;
}

/// Null when there is none.
const Compared* baseline_of(const Compared& member, const Configurations& members) {
  const Compared* first = nullptr;
  for (const auto* candidate : members) {
    if (candidate->synchronisation != "bsp" || candidate->task != member.task) continue;
    if (candidate->over_server) return candidate;
    if (first == nullptr) first = candidate;
  }
  return first;
}

std::optional<double> ratio(const std::optional<double>& above, const std::optional<double>& below) {
  if (!above || !below || *below == 0) return std::nullopt;
  return *above / *below;
}

}  // namespace

Ranking rank(const std::vector<std::string>& names, const std::vector<double>& simulated,
             const std::vector<double>& measured, double noise) {
  TANDEM_CHECK(!names.empty() && names.size() == simulated.size() && names.size() == measured.size());
  Ranking ranking;
  const auto simulated_places = places(simulated), measured_places = places(measured);
  for (std::size_t i = 0; i < names.size(); ++i)
    ranking.variants.push_back(
        {names[i], simulated[i], measured[i], simulated_places[i], measured_places[i]});
  std::stable_sort(ranking.variants.begin(), ranking.variants.end(),
                   [](const auto& a, const auto& b) { return a.measured_place < b.measured_place; });
  ranking.spearman = spearman(simulated, measured);
  ranking.kendall = kendall(simulated, measured);
  ranking.tie = std::max(Ranking::smallest_tie, noise);
  const auto favourite = std::max_element(simulated.begin(), simulated.end()) - simulated.begin();
  const double chosen = measured[static_cast<std::size_t>(favourite)];
  ranking.regret = *std::max_element(measured.begin(), measured.end()) / chosen - 1;
  ranking.same_best = ranking.regret == 0;
  for (std::size_t a = 0; a < names.size(); ++a)
    for (std::size_t b = 0; b < names.size(); ++b)
      if (const double gap = measured[b] / measured[a] - 1;
          simulated[a] > simulated[b] && gap > ranking.largest_swapped_gap) {
        ranking.largest_swapped_gap = gap;
        ranking.swapped = fmt::format("'{}' and '{}'", names[a], names[b]);
      }
  ranking.same_order = ranking.largest_swapped_gap <= ranking.tie;
  return ranking;
}

void add_speed_ups(const Configurations& members, Ranking& ranking) {
  for (auto& variant : ranking.variants) {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const Compared* member) { return member->label() == variant.name; });
    TANDEM_CHECK(found != members.end(), "variant", variant.name);
    const Compared& own = **found;
    variant.exchanges = own.exchanges;
    const auto& target = own.comparison->target;
    if (target) {
      variant.target = target->target;
      variant.time_to_target = {target->simulated, target->measured};
    }
    const Compared* baseline = baseline_of(own, members);
    if (baseline == nullptr) continue;
    variant.baseline = baseline->label();
    const Figure& throughput = baseline->comparison->figure("throughput");
    variant.speed_up = {variant.simulated_throughput / throughput.simulated,
                        variant.measured_throughput / throughput.measured};
    const auto& other = baseline->comparison->target;
    if (!target || !other || other->target != target->target) continue;
    variant.target_speed_up = {ratio(other->simulated, target->simulated),
                               ratio(other->measured, target->measured)};
  }
}

}  // namespace tandem::validation

// What the variants of a group gain over its bsp, in both worlds: by throughput, and by time to an accuracy.
#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "validation/compare/summary.hpp"

namespace tandem::validation {
namespace {

using Configurations = std::vector<const Compared*>;

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

void add_speed_ups(const Configurations& members, Ranking& ranking) {
  for (auto& variant : ranking.variants) {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const Compared* member) { return member->label() == variant.name; });
    TANDEM_CHECK(found != members.end(), "variant", variant.name);
    const Compared& own = **found;
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

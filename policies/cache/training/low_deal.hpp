// Which node delivers which samples of low importance in an epoch. The lists deal samples again in each
// epoch; a package pays only while its samples are wanted at the node that reads it. As such samples replace
// each other, each has a home, the same in every epoch, and is delivered there while the node's list has
// room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

/// Nodes as homes of samples, one for each list: each is the home of a share of all samples as large as its
/// list's.
class Homes {
 public:
  explicit Homes(std::span<const std::vector<SampleId>> lists) {
    for (const auto& list : lists) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + list.size());
  }
  /// Neighbours in the data set, which may be of one class, have different homes.
  std::size_t of(SampleId id) const {
    const auto spread = static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) * 2654435769U);
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, spread * ends_.back() >> 32U) -
                                    ends_.begin());
  }

 private:
  std::vector<std::uint64_t> ends_;  ///< of the lists, one after the other
};

/// The samples of low importance that `node` delivers, sorted: as many of each group as its list has. Every
/// node computes the same shares. `group(id)`: below `groups`.
template <class Group>
std::vector<SampleId> deal_low(const EpochBegins& event, std::size_t node, std::size_t groups,
                               const Group& group) {
  const std::size_t nodes = event.lists.size();
  const Homes homes(event.lists);
  std::vector<std::int64_t> room(nodes * groups);
  std::vector<SampleId> all, own, left;
  for (std::size_t of = 0; of < nodes; ++of)
    for (const SampleId id : event.lists[of])
      if (event.low[static_cast<std::size_t>(id)] != 0) {
        ++room[of * groups + group(id)];
        all.push_back(id);
      }
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  const auto gives = [&](std::size_t to, SampleId id) {
    std::int64_t& places = room[to * groups + group(id)];
    if (places == 0) return false;
    --places;
    if (to == node) own.push_back(id);
    return true;
  };
  for (const SampleId id : all)
    if (!gives(homes.of(id), id)) left.push_back(id);
  for (const SampleId id : left)
    for (std::size_t to = 0; to < nodes && !gives(to, id); ++to) {
    }
  std::ranges::sort(own);
  return own;
}

}  // namespace tandem::cache

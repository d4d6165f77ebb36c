// Longest processing time first (Graham, Bounds on Multiprocessing Timing Anomalies, 1969). Whole tensors,
// the largest first, each to the shard with the smallest load so far. The largest load is at most 4/3 of the
// optimum for whole tensors.
#include <algorithm>

#include "policies/sharding/policies.hpp"

namespace tandem::sharding {

namespace {

std::vector<Holding> largest_first(const Setting& setting) {
  std::vector<Piece> tensors = setting.tensors;
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const Piece& a, const Piece& b) { return a.size() > b.size(); });
  std::vector<std::int64_t> loads(static_cast<std::size_t>(setting.shards));
  std::vector<Holding> holdings;
  for (const Piece& tensor : tensors) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += tensor.size();
    holdings.push_back({tensor, static_cast<int>(least - loads.begin())});
  }
  return holdings;
}

}  // namespace

Entry balanced() {
  return {.name = "balanced",
          .summary = "whole tensors, the largest first, each to the shard with the smallest load",
          .paper = "Graham: Bounds on Multiprocessing Timing Anomalies. SIAM J. Appl. Math. 17(2), 1969",
          .options = {},
          .make = largest_first};
}

}  // namespace tandem::sharding

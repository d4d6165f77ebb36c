// Whole tensors, the largest first, each to the shard that holds least so far: the largest load is at most
// 4/3 of the least that whole tensors allow. Source: Graham, Bounds on Multiprocessing Timing Anomalies,
// 1969.
#include <algorithm>

#include "policies/sharding/policies.hpp"

namespace tandem::sharding {

std::vector<Holding> balanced(const Setting& setting) {
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

}  // namespace tandem::sharding

// The table of sharding policies. A new one is a source file and an entry here.
#include "policies/sharding/policies.hpp"

namespace tandem::sharding {

const Catalog<Policy>& catalog() {
  static const Catalog<Policy> table(
      "sharding policy",
      {{"even", "every shard holds an equal part of every bucket", "", {}, even},
       {"round-robin", "whole tensors in turn, whatever their sizes", "", {}, round_robin},
       {"balanced",
        "whole tensors, the largest first, each to the shard that holds least",
        "Graham: Bounds on Multiprocessing Timing Anomalies. SIAM J. Appl. Math. 17(2), 1969",
        {},
        balanced},
       {"split", "large tensors are spread over all shards, the others go round whole",
        "Chen et al., arXiv:1512.01274; Li et al., OSDI 2014", split_options(), split}});
  return table;
}

std::vector<std::int64_t> loads(const std::vector<Holding>& holdings, int shards) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(shards));
  for (const auto& [piece, shard] : holdings) sums.at(static_cast<std::size_t>(shard)) += piece.size();
  return sums;
}

}  // namespace tandem::sharding

// The list of sharding policies, in the order in which `tandem list sharding` prints them.
#include "policies/sharding/policies.hpp"

namespace tandem::sharding {

const Catalog<Policy>& catalog() {
  static const Catalog<Policy> table("sharding policy", {even(), round_robin(), balanced(), split()});
  return table;
}

std::vector<std::int64_t> loads(const std::vector<Holding>& holdings, int shards) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(shards));
  for (const auto& [piece, shard] : holdings) sums.at(static_cast<std::size_t>(shard)) += piece.size();
  return sums;
}

}  // namespace tandem::sharding

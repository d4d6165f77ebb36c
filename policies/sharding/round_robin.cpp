// Whole tensors in turn, whatever their sizes: no tensor is cut, and one large one makes its shard the
// slowest.
#include "policies/sharding/policies.hpp"

namespace tandem::sharding {

std::vector<Holding> round_robin(const Setting& setting) {
  std::vector<Holding> holdings;
  int next = 0;
  for (const Piece& tensor : setting.tensors) {
    holdings.push_back({tensor, next});
    next = (next + 1) % setting.shards;
  }
  return holdings;
}

}  // namespace tandem::sharding

// Tensor i goes to shard i modulo shards, independent of its size. No tensor is cut, so one large tensor
// makes its shard the slowest.
#include "policies/sharding/policies.hpp"

namespace tandem::sharding {

namespace {

std::vector<Holding> in_turn(const Setting& setting) {
  std::vector<Holding> holdings;
  int next = 0;
  for (const Piece& tensor : setting.tensors) {
    holdings.push_back({tensor, next});
    next = (next + 1) % setting.shards;
  }
  return holdings;
}

}  // namespace

Entry round_robin() {
  return {.name = "round-robin",
          .summary = "whole tensors to the shards in turn, independent of their sizes",
          .paper = "",
          .options = {},
          .make = in_turn};
}

}  // namespace tandem::sharding

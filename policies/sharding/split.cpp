// MXNet's distributed key-value store (Chen et al., arXiv:1512.01274; Li et al., OSDI 2014). Large tensors
// are spread over all shards, so that none of them makes one shard the slowest; the others go to the shards
// in turn as a whole, where MXNet places them by a hash.
#include "policies/sharding/policies.hpp"

namespace tandem::sharding {
namespace {

std::vector<Holding> split_large(const Setting& setting) {
  const std::int64_t large = setting.options.integer("large");
  std::vector<Holding> holdings;
  int next = 0;
  for (const Piece& tensor : setting.tensors) {
    if (tensor.size() >= large) {
      spread(tensor, setting.shards, holdings);
      continue;
    }
    holdings.push_back({tensor, next});
    next = (next + 1) % setting.shards;
  }
  return holdings;
}

}  // namespace

Entry split() {
  return {.name = "split",
          .summary = "large tensors are spread over all shards, the others go whole to the shards in turn",
          .paper = "Chen et al., arXiv:1512.01274; Li et al., OSDI 2014",
          .options = {{.name = "large",
                       .summary = "smallest number of elements of a large tensor",
                       .default_value = std::int64_t{1'000'000},
                       .minimum = 1}},
          .make = split_large};
}

}  // namespace tandem::sharding

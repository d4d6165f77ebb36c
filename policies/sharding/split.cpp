// Large tensors are spread over all shards, so that none of them makes one shard the slowest; the others go
// round whole. MXNet's distributed key-value store does so, where a hash places the others.
#include "policies/sharding/policies.hpp"

namespace tandem::sharding {

std::vector<OptionSpec> split_options() {
  return {{.name = "large",
           .summary = "elements from which on a tensor is spread over all shards",
           .default_value = std::int64_t{1'000'000},
           .minimum = 1}};
}

std::vector<Holding> split(const Setting& setting) {
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

}  // namespace tandem::sharding

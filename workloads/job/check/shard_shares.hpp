// How unequally a sharding policy loads the servers: the share of the busiest shard of all bytes and
// messages, under the chosen policy and under the others. Pure arithmetic.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/options.hpp"
#include "workloads/job/plan/shard_layout.hpp"

namespace tandem {

/// The shard with the most of something that all shards together have.
struct BusiestShard {
  int shard = 0;            ///< the first one with that much
  std::int64_t amount = 0;  ///< of this shard
  std::int64_t total = 0;   ///< of all
  double share() const { return static_cast<double>(amount) / static_cast<double>(total); }
};

/// The busiest shards for a push, and for a reply: by bytes and by messages. The two may be different
/// shards.
struct ShardShares {
  std::string policy;
  int shards = 0;
  BusiestShard bytes;     ///< of uncompressed values
  BusiestShard messages;  ///< the last one of a shard carries its note, and may be empty
};

/// Pre: some shard holds an element.
ShardShares shares_of(const ShardLayout& layout, const std::string& policy);

/// The shares of the chosen policy first, then of the others in the order of the catalogue, with their
/// default options. Pre: the model has an element.
std::vector<ShardShares> shares_of_policies(const ModelDescription& model, const ShardLayout& chosen,
                                            const std::string& policy);

/// The policy to prefer to the chosen one, among the others of shares_of_policies(). The chosen one gives
/// its busiest shard more than 1.25 times an even share, and the other one clearly less (a tenth). Where
/// bytes are uneven, it has the least bytes, and of those within 2 % the fewest messages. Otherwise it has
/// the fewest messages, without more bytes. None: the chosen policy is even enough, or no policy gives less.
std::optional<ShardShares> better_policy(const std::vector<ShardShares>& policies);

/// For run.json: "busiest": {"bytes": busiest, "messages": busiest}, "others": [{"policy", "bytes",
/// "messages" (shares)}, ...], busiest: {"shard", "host", "share"}, and "busiest_summary" in words. `hosts`:
/// by shard.
nlohmann::json describe_shares(const std::vector<ShardShares>& policies,
                               const std::vector<std::string>& hosts);

/// A sentence about the policy to prefer; empty: none. `hosts`: by shard.
std::string warning_of_shares(const std::vector<ShardShares>& policies,
                              const std::vector<std::string>& hosts);

}  // namespace tandem

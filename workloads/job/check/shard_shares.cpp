#include "workloads/job/check/shard_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/format.hpp"

namespace tandem {
namespace {

constexpr double uneven = 1.25;       ///< times an even share, from which on a policy is not even enough
constexpr double clearly_less = 0.9;  ///< of the busiest shard's load
constexpr double about_as_much = 1.02;

void count(BusiestShard& busiest, int shard, std::int64_t amount) {
  busiest.total += amount;
  if (amount <= busiest.amount) return;
  busiest.shard = shard;
  busiest.amount = amount;
}

bool is_uneven(const BusiestShard& busiest, int shards) { return busiest.share() * shards > uneven; }

double ratio(std::int64_t amount, std::int64_t other) {
  return static_cast<double>(amount) / static_cast<double>(other);
}

std::string host_text(int shard, const std::vector<std::string>& hosts) {
  return fmt::format("shard {} on host '{}'", shard, hosts.at(static_cast<std::size_t>(shard)));
}

nlohmann::json to_json(const BusiestShard& busiest, const std::vector<std::string>& hosts) {
  return {{"shard", busiest.shard},
          {"host", hosts.at(static_cast<std::size_t>(busiest.shard))},
          {"share", busiest.share()}};
}

}  // namespace

ShardShares shares_of(const ShardLayout& layout, const std::string& policy) {
  ShardShares shares{
      .policy = policy, .shards = static_cast<int>(layout.size()), .bytes = {}, .messages = {}};
  for (int shard = 0; shard < shares.shards; ++shard) {
    const ShardPieces& pieces = layout[static_cast<std::size_t>(shard)];
    count(shares.bytes, shard, 4 * shard_elements(pieces));
    count(shares.messages, shard, std::ssize(pieces));
  }
  TANDEM_CHECK(shares.bytes.total > 0, "shards", shares.shards);
  return shares;
}

std::vector<ShardShares> shares_of_policies(const ModelDescription& model, const ShardLayout& chosen,
                                            const std::string& policy) {
  std::vector<ShardShares> policies{shares_of(chosen, policy)};
  for (const auto& other : sharding::catalog().entries())
    if (other.name != policy)
      policies.push_back(shares_of(lay_out_shards(model, other.make, static_cast<int>(chosen.size()),
                                                  Options::resolve(other.name, other.options, {})),
                                   other.name));
  return policies;
}

std::optional<ShardShares> better_policy(const std::vector<ShardShares>& policies) {
  const ShardShares& own = policies.front();
  const std::span others = std::span(policies).subspan(1);
  if (own.shards < 2 || others.empty()) return std::nullopt;
  const auto messages = [](const ShardShares& shares) { return shares.messages.amount; };
  const auto fewest_messages = [&](const auto& accepted) {
    std::optional<ShardShares> best;
    for (const ShardShares& other : others)
      if (accepted(other) && (!best || messages(other) < messages(*best))) best = other;
    return best;
  };
  const std::int64_t least =
      std::ranges::min(others, {}, [](const ShardShares& other) { return other.bytes.amount; }).bytes.amount;
  if (is_uneven(own.bytes, own.shards) && ratio(least, own.bytes.amount) <= clearly_less)
    return fewest_messages(
        [&](const ShardShares& other) { return ratio(other.bytes.amount, least) <= about_as_much; });
  if (!is_uneven(own.messages, own.shards)) return std::nullopt;
  return fewest_messages([&](const ShardShares& other) {
    return ratio(messages(other), messages(own)) <= clearly_less &&
           ratio(other.bytes.amount, own.bytes.amount) <= about_as_much;
  });
}

nlohmann::json describe_shares(const std::vector<ShardShares>& policies,
                               const std::vector<std::string>& hosts) {
  const ShardShares& own = policies.front();
  nlohmann::json others = nlohmann::json::array();
  std::string instead;
  for (const ShardShares& other : std::span(policies).subspan(1)) {
    const double bytes = other.bytes.share(), messages = other.messages.share();
    others.push_back({{"policy", other.policy}, {"bytes", bytes}, {"messages", messages}});
    instead += fmt::format("{} with {} {} and {}", instead.empty() ? ";" : ",", other.policy, percent(bytes),
                           percent(messages));
  }
  const bool is_one = own.bytes.shard == own.messages.shard;
  const std::string of_messages = percent(own.messages.share()) + " of the messages" +
                                  (is_one ? "" : fmt::format(" ({})", host_text(own.messages.shard, hosts)));
  return {{"busiest", {{"bytes", to_json(own.bytes, hosts)}, {"messages", to_json(own.messages, hosts)}}},
          {"others", others},
          {"busiest_summary", fmt::format("{} of the bytes ({}) and {}{}", percent(own.bytes.share()),
                                          host_text(own.bytes.shard, hosts), of_messages, instead)}};
}

std::string warning_of_shares(const std::vector<ShardShares>& policies,
                              const std::vector<std::string>& hosts) {
  const auto better = better_policy(policies);
  if (!better) return "";
  const ShardShares& own = policies.front();
  const bool of_bytes =
      is_uneven(own.bytes, own.shards) && ratio(better->bytes.amount, own.bytes.amount) <= clearly_less;
  const BusiestShard& busiest = of_bytes ? own.bytes : own.messages;
  const auto messages = [](const ShardShares& shares) {
    return fmt::format("{} of {}", shares.messages.amount, shares.messages.total);
  };
  return fmt::format(
      "with sync.sharding: {} the busiest of {} shards, {}, has {} of the {} of a push, where an even share "
      "is "
      "{}; with sync.sharding: {} the busiest shard has {} of the bytes instead of {}, and {} messages "
      "instead "
      "of {}",
      own.policy, own.shards, host_text(busiest.shard, hosts), percent(busiest.share()),
      of_bytes ? "bytes" : "messages", percent(1.0 / own.shards), better->policy,
      percent(better->bytes.share()), percent(own.bytes.share()), messages(*better), messages(own));
}

}  // namespace tandem

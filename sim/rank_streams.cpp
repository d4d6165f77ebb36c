#include "sim/rank_streams.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem::sim {

namespace {

constexpr std::uint64_t key_of(Rank from, Channel channel) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) |
         static_cast<std::uint32_t>(channel.number());
}

}  // namespace

MessageStream& RankStreams::of(Rank from, Channel channel) {
  const auto [found, is_new] = all_.try_emplace(key_of(from, channel));
  if (is_new) {
    found->second.carries_note = channel.carries_note;
    found->second.number = static_cast<std::uint32_t>(all_.size());
    if (lists_peers_) add_to_peer(from, found->second);
  }
  TANDEM_CHECK(found->second.carries_note == channel.carries_note, "channel", channel.number(), "from", from,
               "to", receiver_, "both ends must agree whether it carries notes");
  return found->second;
}

void RankStreams::clear() {
  of_peer_.clear();
  all_.clear();
}

void RankStreams::add_to_peer(Rank from, MessageStream& stream) {
  stream.next_of_peer = std::exchange(of_peer_[from], &stream);
}

/// Most simulations never ask for the streams of a sender, so they are listed when one does.
void RankStreams::list_peers() {
  lists_peers_ = true;
  std::vector<std::pair<Rank, MessageStream*>> in_order;
  for (auto& [key, stream] : all_) in_order.emplace_back(static_cast<Rank>(key >> 32), &stream);
  std::ranges::sort(in_order, {}, [](const auto& entry) { return entry.second->number; });
  for (const auto& [from, stream] : in_order) add_to_peer(from, *stream);
}

}  // namespace tandem::sim

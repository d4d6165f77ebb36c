// What a cache node asks the directory before it decides about a request (data.peers: directory).
#include <algorithm>
#include <utility>
#include <vector>

#include "workloads/roles/cache/cache_node.hpp"

namespace tandem {

void CacheNode::begin_request(Client& client) {
  if (!look_up(client)) begin_batch(client);
}

/// Asks for what the node does not hold. What leaves it meanwhile, because of other clients, is asked for
/// once more; what then has left it comes from the store, and is not kept. False: the request can be decided.
bool CacheNode::look_up(Client& client) {
  constexpr int most = 2;
  if (!directory_ || client.lookups == most) return false;
  std::vector<SampleId> unknown;
  for (const SampleId id : client.ids)
    if (engine_.tier_of(id) == cache::outside && !directory_->knows(index_of(client), id) &&
        std::ranges::find(unknown, id) == unknown.end())
      unknown.push_back(id);
  if (unknown.empty()) return false;
  if (client.lookups++ == 0) client.asked = context_.now();
  client.is_held = true;
  directory_->look_up(index_of(client), std::move(unknown), client.request.epoch);
  return true;
}

void CacheNode::hear_directory(const Note& note) {
  if (const auto number = directory_->hear(note)) {
    Client& client = clients_[*number];
    if (look_up(client)) return;
    client.is_held = false;
    begin_batch(client);
  } else {
    withdraw_unused();
  }
  answer_held_peers();
}

/// Its worker is gone while its request was held.
void CacheNode::forget_lookups(Client& client) {
  if (!directory_ || std::exchange(client.lookups, 0) == 0) return;
  directory_->forget(index_of(client));
  withdraw_unused();
  answer_held_peers();
}

/// Another request may still decide about it, or has done so.
void CacheNode::withdraw_unused() {
  cache::Decisions decisions;
  for (const SampleId id : directory_->take_unused())
    if (engine_.tier_of(id) == cache::outside && !directory_->awaits(id)) decisions.withdrawn.push_back(id);
  directory_->note(decisions, active_->newest_epoch());
}

void CacheNode::tell_holders(const Client& client) {
  const auto known = directory_->take(index_of(client));
  moment_ = known.moment;
  if (!known.holders.empty()) engine_.directory(known.holders);
}

/// The directory may have named this node for a sample that the node has asked for and may keep: it will have
/// or read the sample when its request is decided, which no other node can delay.
bool CacheNode::must_wait(const Client& peer) const {
  return directory_ && std::ranges::any_of(peer.ids, [this](SampleId id) {
           return directory_->awaits(id) && !engine_.has(id) && !is_coming(id);
         });
}

void CacheNode::answer_held_peers() {
  for (Client& client : clients_) {
    if (!client.is_peer || !client.is_held || must_wait(client)) continue;
    client.is_held = false;
    answer_peer(client, client.request.epoch);
  }
}

}  // namespace tandem

// The ranks with which a cache node works that may depart and come back: how it learns of them, the
// operations that it ends with those that are gone or whose job has ended, and how it joins the job when it
// comes back itself. Kept samples stay: only the batches of a worker that is gone are of no use any more.
#include <utility>

#include "workloads/roles/cache/cache_node.hpp"

namespace tandem {

/// The steward names the other nodes that are there, and stores that it asks them. Notes to an earlier node
/// of the slot may come first.
void CacheNode::join() {
  const auto wait = [this](Pending& pending) { return context_.wait(pending); };
  Pending arrival =
      protocol::send<"ends-of-job">(context_, *steward_, protocol::Arrived{.incarnation = life_.incarnation});
  std::int32_t others = 0;
  for (int welcome = 0; welcome != life_.incarnation;) {
    Pending next = protocol::receive<"membership">(context_, *steward_);
    const Note note = wait(next).note;
    const auto joined = protocol::as<protocol::NodeJoined>(note);
    if (!joined || joined->is_store || static_cast<std::size_t>(joined->node) != places_.node) continue;
    welcome = joined->incarnation;
    others = joined->others;
  }
  wait(arrival);
  constexpr int only_one = 1;
  for (const Rank store : job_.roster().ranks_of(Roster::Role::store))
    join_server(context_, store, life_.incarnation, only_one, wait, [] { return true; });
  if (const auto directory = job_.roster().directory())
    join_server(context_, *directory, life_.incarnation, only_one, wait, [] { return true; });
  const auto nodes = static_cast<int>(job_.roster().ranks_of(Roster::Role::cache_node).size());
  for (PeerSource* peer : sources_.peers()) peer->be_absent();
  for (int node = 0; places_.peers > 0 && node < nodes; ++node)
    if (node != static_cast<int>(places_.node)) perform(service_.change_peer({.node = node, .joins = false}));
  wait_.back() = protocol::receive<"membership">(context_, *steward_);
  for (; others > 0; --others) on_membership(wait(wait_.back()).note);
}

void CacheNode::record_departure() {
  for (NodeClient& client : clients_.all())
    if (client.is_present()) clients_.end(client);
  for (NodeJob& job : jobs_.all()) job.record_background(service_.engine());
}

/// Workers may depart until all have ended, so notes may also come after the one that no worker joins any
/// more.
void CacheNode::on_membership(const Note& note) {
  if (const auto departed = protocol::as<protocol::Departed>(note)) {
    if (NodeClient* const client = clients_.of_worker(departed->worker)) on_departed(*client);
  } else if (const auto joined = protocol::as<protocol::Joined>(note)) {
    if (NodeClient* const client = clients_.of_worker(joined->worker))
      on_joined(*client, joined->incarnation);
  } else if (const auto node = protocol::as<protocol::NodeDeparted>(note)) {
    const auto index = static_cast<std::size_t>(node->node);
    node->is_store ? sources_.stores()[index]->depart() : change_peer(index, 0);
  } else if (const auto back = protocol::as<protocol::NodeJoined>(note)) {
    const auto index = static_cast<std::size_t>(back->node);
    back->is_store ? sources_.stores()[index]->join(life_.incarnation, back->incarnation)
                   : change_peer(index, back->incarnation);
  } else {
    protocol::unpack<protocol::End>(note);
    no_more_join_ = true;
  }
  wait_.back() = protocol::receive<"membership">(context_, *steward_);
}

/// Ends the open operations between this node and the worker. Running reads and sends end later: other
/// workers must not wait for them.
void CacheNode::on_departed(NodeClient& client) {
  // It has ended by itself.
  if (!client.is_present()) return;
  const std::size_t index = clients_.index_of(client);
  client.leave(context_, wait_[index], life_.incarnation);
  if (watch_ && !client.is_peer) watch_->lose(index, wait_, client.draining);
  messages_.lose(index);
  service_.batches().lose(index);
  client.is_held = false;
  forget_lookups(client);
  clients_.end(client);
}

/// A new worker in the slot of one that is gone, or in one for spares.
void CacheNode::on_joined(NodeClient& client, int incarnation) {
  clients_.begin(client, incarnation);
  advance_join(client, {});
}

/// `last`: the operation for which the join has waited.
void CacheNode::advance_join(NodeClient& client, const Completion& last) {
  const std::size_t index = clients_.index_of(client);
  const auto join = client.advance(context_, last, wait_[index], life_.incarnation);
  if (join == JoiningClient::Join::declined) clients_.end(client);
  if (join == JoiningClient::Join::joined && watch_ && !client.is_peer) watch_->begin(index);
}

/// Another cache node has departed, or one of that incarnation has come. The samples of the departed one are
/// gone, for this node and for the policy.
void CacheNode::change_peer(std::size_t node, int incarnation) {
  const std::size_t number = places_.peer_of(node);
  const bool joins = incarnation > 0;
  if (joins) {
    on_joined(clients_.peer(number), incarnation);
    sources_.peers()[number]->join(life_.incarnation, incarnation);
  } else {
    on_departed(clients_.peer(number));
    sources_.peers()[number]->depart();
  }
  perform(service_.change_peer({.node = static_cast<int>(node), .joins = joins}));
}

void CacheNode::end_membership() {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    context_.wait_all(clients_[i].draining);
    messages_.wait_for_lost(i);
  }
  Pending end = protocol::send<"ends-of-job">(context_, *steward_, protocol::End{});
  context_.wait(end);
  context_.cancel(wait_.back());
  context_.wait(wait_.back());
}

}  // namespace tandem

// A cache node that may depart itself: how it joins the job when it comes back.
#include "workloads/roles/cache/cache_node.hpp"

namespace tandem {

/// The steward tells it which other nodes are there, and stores that it asks them. Notes to an earlier node
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
    if (!joined || joined->is_store || static_cast<std::size_t>(joined->node) != index_) continue;
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
  for (PeerSource* peer : peers_) peer->be_absent();
  for (int node = 0; !peers_.empty() && node < nodes; ++node)
    if (node != static_cast<int>(index_)) engine_.change_peer({.node = node, .joins = false});
  wait_.back() = protocol::receive<"membership">(context_, *steward_);
  for (; others > 0; --others) hear_steward(wait(wait_.back()).note);
}

void CacheNode::record_departure() {
  for (Client& client : clients_)
    if (!client.has_ended || client.is_joining) end_client(client);
  for (NodeJob& job : jobs_) record_background(job);
}

}  // namespace tandem

// A cache node that may depart itself: how it joins the job when it comes back.
#include "workloads/roles/cache_node.hpp"

namespace tandem {

/// The steward tells it who is there, and stores that it asks them. Notes to an earlier node of the slot may
/// come first.
void CacheNode::join() {
  const auto wait = [this](Pending& pending) { return context_.wait(pending); };
  Pending arrival = context_.send(*steward_, protocol::ends_of_job, {},
                                  protocol::pack(protocol::Arrived{.incarnation = life_.incarnation}));
  for (int welcome = 0; welcome != life_.incarnation;) {
    Pending next = context_.receive(*steward_, protocol::membership, {});
    const Note note = wait(next).note;
    if (protocol::holds<protocol::NodeJoined>(note))
      welcome = protocol::unpack<protocol::NodeJoined>(note).incarnation;
  }
  wait(arrival);
  constexpr int only_one = 1;
  for (const Rank store : job_.roster().ranks_of(Roster::Role::store))
    join_server(context_, store, life_.incarnation, only_one, wait, [] { return true; });
  wait_.back() = context_.receive(*steward_, protocol::membership, {});
}

void CacheNode::record_departure() {
  for (Client& client : clients_)
    if (!client.has_ended || client.is_joining) end_client(client);
}

}  // namespace tandem

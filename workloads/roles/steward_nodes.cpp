// The steward of cache nodes whose machines depart: workers and stores hear when one is gone and when it is
// back, the node itself which workers are there.
#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/cache_clients.hpp"
#include "workloads/job/departing_nodes.hpp"
#include "workloads/job/fates_of_job.hpp"
#include "workloads/job/needed_machines.hpp"
#include "workloads/roles/steward.hpp"

namespace tandem {

void Steward::add_nodes() {
  const Roster& roster = job_.roster();
  for (const Rank rank : roster.ranks_of(Roster::Role::cache_node)) {
    Node& node = nodes_.emplace_back();
    node.rank = rank;
    node.channel = protocol::occupancies;
  }
  const auto departing = departing_cache_nodes(job_);
  if (departing.empty()) return;
  stores_ = roster.ranks_of(Roster::Role::store);
  running_stores_ = stores_.size();
  clients_of_ = clients_of_nodes(roster);
  // As fates_of orders them.
  std::size_t machines = hosts_of_machines(job_).size();
  for (const std::size_t node : departing) nodes_[node].machine = static_cast<int>(machines++);
  node_machines_.emplace(job_.spec().experiment.transience, fates_of(job_), machines);
  for (const std::size_t node : departing) nodes_[node].machines = &*node_machines_;
}

void Steward::occupy_nodes() {
  for (Node& node : nodes_) {
    if (node.machines == nullptr) continue;
    node.incarnation = node_machines_->occupy(node.machine, Seconds(0));
    record(node, "joined");
    announce(node);
  }
}

/// As for slots of workers: all begin this launch with the first node in each slot.
void Steward::begin_nodes_again() {
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    Node& node = nodes_[index];
    if (node.machines == nullptr) continue;
    node.begin_launch();
    constexpr int first = 1;
    if (!node.is_present) {
      note_node_left(index, first);
    } else if (!node.is_gone) {
      announce(node);
      node.is_starting = false;
    }
  }
}

/// With the node of a slot that says so itself, all are told that it is there.
void Steward::hear_node(std::size_t index, const Note& note) {
  Node& node = nodes_[index];
  if (!protocol::holds<protocol::Arrived>(note)) {
    node.has_ended = true;
    return;
  }
  awaited_[deciders_.size() + index] = context_.receive(node.rank, protocol::ends_of_job, {});
  const int arrived = protocol::unpack<protocol::Arrived>(note).incarnation;
  if (node.is_starting && arrived == node.in_launch(node.announced)) welcome_node(index);
}

void Steward::welcome_node(std::size_t index) {
  Node& node = nodes_[index];
  node.is_starting = false;
  node.is_present = true;
  record(node, "joined");
  const Note joined = protocol::pack(protocol::NodeJoined{.node = static_cast<std::int32_t>(index),
                                                          .incarnation = node.in_launch(node.announced)});
  tell(node.rank, protocol::membership, joined);
  for (const std::size_t worker : clients_of_[index])
    if (const Slot& slot = slots_[worker]; slot.is_member)
      tell(node.rank, protocol::membership,
           protocol::pack(protocol::Joined{.worker = static_cast<std::int32_t>(worker),
                                           .incarnation = slot.in_launch(slot.incarnation)}));
  if (is_ending_) tell(node.rank, protocol::membership, protocol::pack(protocol::End{}));
  tell_stores(joined);
  tell_clients(index, joined);
}

/// One that is away does not come back once no worker joins any more.
bool Steward::have_nodes_ended() const {
  return std::ranges::all_of(nodes_, [this](const Node& node) {
    return node.has_ended || (is_ending_ && !node.is_present && !node.is_starting);
  });
}

/// When no node, and no worker, joins any more.
void Steward::end_stores() {
  if (has_ended_stores_ || !is_ending_ || !have_nodes_ended()) return;
  has_ended_stores_ = true;
  tell_stores(protocol::pack(protocol::End{}));
}

void Steward::end_nodes() {
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    const Node& node = nodes_[index];
    if (node.machines == nullptr) continue;
    tell(node.rank, protocol::occupancies, protocol::pack(protocol::End{}));
    Pending& awaited = awaited_[deciders_.size() + index];
    if (awaited.empty()) continue;
    context_.cancel(awaited);
    context_.wait(awaited);
  }
}

/// The machine of a node that has done its work takes nothing along.
void Steward::handle_node(const MachineEvent& event) {
  using What = MachineEvent::What;
  const auto found = std::ranges::find(nodes_, event.slot, &Node::machine);
  Node& node = *found;
  if (node.has_ended) return;
  const auto index = static_cast<std::size_t>(found - nodes_.begin());
  note_event(node, event);
  if (event.what == What::noticed) {
    if (node.announced == event.incarnation) {
      if (node.is_present) note_node_left(index, node.in_launch(event.incarnation));
      node.is_present = node.is_starting = false;
    }
    if (is_ending_) return;
    record(node, "requested");
    node_machines_->request(event.slot, now());
  }
  if (event.what == What::ready && !is_ending_) {
    node.is_starting = true;
    announce(node);
    if (past_) welcome_node(index);
  }
}

/// `incarnation`: as this launch counts.
void Steward::note_node_left(std::size_t index, int incarnation) {
  const Note note = protocol::pack(
      protocol::NodeDeparted{.node = static_cast<std::int32_t>(index), .incarnation = incarnation});
  tell_stores(note);
  tell_clients(index, note);
}

/// To those that are there.
void Steward::tell_nodes(const Note& note) {
  for (const Node& node : nodes_)
    if (node.is_present && !node.has_ended) tell(node.rank, protocol::membership, note);
}

/// To the slots of the workers that the node serves.
void Steward::tell_clients(std::size_t index, const Note& note) {
  for (const std::size_t worker : clients_of_[index]) tell(slots_[worker].rank, protocol::membership, note);
}

void Steward::tell_stores(const Note& note) {
  for (const Rank store : stores_) tell(store, protocol::membership, note);
}

}  // namespace tandem

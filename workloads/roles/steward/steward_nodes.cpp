#include "workloads/roles/steward/steward_nodes.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/job/plan/departing_nodes.hpp"
#include "workloads/job/plan/fates_of_job.hpp"
#include "workloads/job/plan/machines_of_job.hpp"

namespace tandem {

using Role = Roster::Role;

StewardNodes::StewardNodes(const Job& job, Context& context, StewardNotices& notices,
                           std::span<const Place> workers, const Membership& membership)
    : job_(job), context_(context), notices_(notices), workers_(workers), membership_(membership) {
  const auto nodes = departing_cache_nodes(job_), stores = departing_stores(job_);
  // As fates_of orders them.
  const std::size_t first = hosts_of_machines(job_).size(), machines = first + nodes.size() + stores.size();
  add_machines(Role::cache_node, nodes, first);
  if (machines == first) return;
  add_machines(Role::store, stores, first + nodes.size());
  if (!nodes.empty()) add_machines(Role::directory, {}, machines);
  clients_of_ = clients_of_nodes(job_.roster());
  machines_.emplace(job_.spec().experiment.transience, fates_of(job_), machines);
  for (Node& node : nodes_)
    if (node.machine >= 0) node.machines = &*machines_;
}

/// `departing`: indices of those with machines, of which `first` is the first.
void StewardNodes::add_machines(Role role, std::span<const std::size_t> departing, std::size_t first) {
  const std::size_t before = nodes_.size();
  for (const Rank rank : job_.roster().ranks_of(role)) {
    const auto index = static_cast<std::int32_t>(nodes_.size() - before);
    Node& node = nodes_.emplace_back();
    node.rank = rank;
    node.role = role;
    node.index = index;
  }
  for (const std::size_t index : departing) nodes_[before + index].machine = static_cast<int>(first++);
}

void StewardNodes::occupy() {
  for (Node& node : nodes_) {
    if (node.machines == nullptr) continue;
    node.incarnation = machines_->occupy(node.machine, Seconds(0));
    notices_.record(node, "joined");
    notices_.announce(node);
  }
}

/// As for slots of workers: all begin this launch with the first node in each slot.
void StewardNodes::begin_again() {
  for (Node& node : nodes_) {
    if (node.machines == nullptr) continue;
    node.begin_launch();
    constexpr int first = 1;
    if (!node.is_present) {
      note_left(node, first);
    } else if (!node.is_gone) {
      notices_.announce(node);
      node.is_starting = false;
    }
  }
}

/// When the node of a slot says that it is there, notifies all others.
void StewardNodes::on_message(std::size_t number, const Note& note, Pending& next) {
  Node& node = nodes_[number];
  const auto arrived = protocol::as<protocol::Arrived>(note);
  if (!arrived) {
    node.has_ended = true;
    return;
  }
  next = listen(number);
  if (node.is_starting && arrived->incarnation == incarnation_of(node)) welcome(node);
}

/// As this launch counts.
int StewardNodes::incarnation_of(const Node& node) const {
  return node.machines == nullptr ? 1 : node.in_launch(node.announced);
}

protocol::NodeJoined StewardNodes::joined_note(const Node& node) const {
  return {.node = node.index, .incarnation = incarnation_of(node), .is_store = node.role == Role::store};
}

void StewardNodes::welcome(Node& node) {
  node.is_starting = false;
  node.is_present = true;
  node.away_since.reset();
  notices_.record(node, "joined");
  if (node.role == Role::cache_node) return introduce(node);
  const auto joined = joined_note(node);
  notices_.notify<"membership">(node.rank, joined);
  if (has_ended_stores_) return notices_.notify<"membership">(node.rank, protocol::End{});
  notify_all(Role::cache_node, joined);
}

/// A cache node that is back, and its workers, other nodes and stores, to each other. It knows the other
/// nodes before it decides anything. Nodes that end do not wait for it.
void StewardNodes::introduce(const Node& node) {
  const auto joined = joined_note(node);
  std::vector<protocol::NodeJoined> others;
  for (const Node& other : nodes_)
    if (!is_ending_ && is_peer(node, other)) others.push_back(joined_note(other));
  auto welcome = joined;
  welcome.others = static_cast<std::int32_t>(others.size());
  notices_.notify<"membership">(node.rank, welcome);
  for (const auto& other : others) notices_.notify<"membership">(node.rank, other);
  for (const std::size_t worker : clients_of_[static_cast<std::size_t>(node.index)])
    if (const Place& slot = workers_[worker]; membership_.is_member(slot.machine))
      notices_.notify<"membership">(node.rank,
                                    protocol::Joined{.worker = static_cast<std::int32_t>(worker),
                                                     .incarnation = slot.in_launch(slot.incarnation)});
  notify_stores(joined);
  notify_clients(node, joined);
  if (is_ending_) return notices_.notify<"membership">(node.rank, protocol::End{});
  notify_peers(node, joined);
}

/// Whether it comes back if it is away. A cache node does not once no worker joins any more.
bool StewardNodes::returns(const Node& node) const {
  return node.role == Role::store ? !have_cache_nodes_ended() : !is_ending_;
}

bool StewardNodes::has_ended(const Node& node) const {
  return node.has_ended || (!node.is_present && !node.is_starting && !returns(node));
}

bool StewardNodes::have_cache_nodes_ended() const {
  return std::ranges::all_of(
      nodes_, [this](const Node& node) { return node.role != Role::cache_node || has_ended(node); });
}

/// When no node, and no worker, joins any more.
void StewardNodes::end_stores() {
  if (has_ended_stores_ || !is_ending_ || !have_cache_nodes_ended()) return;
  has_ended_stores_ = true;
  notify_stores(protocol::End{});
}

void StewardNodes::end(std::span<Pending> awaited) {
  for (std::size_t number = 0; number < nodes_.size(); ++number) {
    const Node& node = nodes_[number];
    if (node.machines == nullptr) continue;
    notices_.notify<"occupancies">(node.rank, protocol::End{});
    if (awaited[number].empty()) continue;
    context_.cancel(awaited[number]);
    context_.wait(awaited[number]);
  }
}

bool StewardNodes::have_all_ended() const {
  return std::ranges::all_of(nodes_, [this](const Node& node) { return has_ended(node); });
}

void StewardNodes::end_joins() {
  if (std::exchange(is_ending_, true)) return;
  notify_all(Role::cache_node, protocol::End{});
}

/// The machine of a node that has done its work takes nothing along.
void StewardNodes::take_event(Seconds time) {
  using What = MachineEvent::What;
  const auto event = machines_->take(time);
  if (!event) return;
  Node& node = *std::ranges::find(nodes_, event->slot, &Node::machine);
  if (node.has_ended) return;
  notices_.on_event(node, *event);
  switch (event->what) {
    case What::noticed:
      if (node.announced == event->incarnation) {
        if (node.is_present) note_left(node, incarnation_of(node));
        node.is_present = node.is_starting = false;
        if (node.role == Role::store && !node.away_since) node.away_since = notices_.now();
      }
      if (!returns(node)) return;
      notices_.record(node, "requested");
      return machines_->request(event->slot, std::max(event->at, Seconds(0)));
    case What::ready:
      if (!returns(node)) return;
      node.is_starting = true;
      notices_.announce(node);
      if (notices_.is_past()) welcome(node);
      return;
    case What::refused:
      if (node.role == Role::store && returns(node))
        throw WorldError("the job gives up: the machine of the store on '" +
                         job_.roster().host_of(node.rank) +
                         "' has departed, and no other one can be had; nobody else has its samples");
      return;
    case What::warned:
    case What::departed:
      return;
  }
}

/// When the wait for a store is over.
std::optional<Seconds> StewardNodes::next_of_stores() const {
  std::optional<Seconds> next;
  const Seconds longest = job_.spec().experiment.recovery.give_up;
  if (longest <= Seconds(0)) return next;
  for (const Node& node : nodes_)
    if (node.away_since && returns(node) && (!next || *node.away_since + longest < *next))
      next = *node.away_since + longest;
  return next;
}

void StewardNodes::give_up_stores(Seconds time) const {
  const auto next = next_of_stores();
  if (!next || *next > time) return;
  const auto longest_away = std::ranges::min_element(nodes_, {}, [](const Node& node) {
    return node.away_since.value_or(Seconds(std::numeric_limits<double>::infinity()));
  });
  throw WorldError("the job gives up: the store on '" + job_.roster().host_of(longest_away->rank) +
                   "' has departed and did not come back in time (recovery.give_up); nobody else has its "
                   "samples");
}

/// `incarnation`: as this launch counts.
void StewardNodes::note_left(const Node& node, int incarnation) {
  const bool is_store = node.role == Role::store;
  const protocol::NodeDeparted note{.node = node.index, .incarnation = incarnation, .is_store = is_store};
  if (is_store) return notify_all(Role::cache_node, note);
  notify_stores(note);
  notify_clients(node, note);
  notify_peers(node, note);
}

/// To those that are there.
void StewardNodes::notify_all(Role role, const MembershipNote& note) {
  for (const Node& node : nodes_)
    if (node.role == role && node.is_present && !node.has_ended)
      notices_.notify<"membership">(node.rank, note);
}

/// To the slots of the workers that the cache node serves.
void StewardNodes::notify_clients(const Node& node, const MembershipNote& note) {
  for (const std::size_t worker : clients_of_[static_cast<std::size_t>(node.index)])
    notices_.notify<"membership">(workers_[worker].rank, note);
}

/// Another cache node that is there, where they ask each other.
bool StewardNodes::is_peer(const Node& node, const Node& other) const {
  return job_.data().asks_peers() && other.role == Role::cache_node && other.is_present && !other.has_ended &&
         other.rank != node.rank;
}

void StewardNodes::notify_peers(const Node& node, const MembershipNote& note) {
  for (const Node& other : nodes_)
    if (is_peer(node, other)) notices_.notify<"membership">(other.rank, note);
}

void StewardNodes::notify(const MembershipNote& note) {
  notify_all(Role::cache_node, note);
  notify_stores(note);
}

/// The directory gets the same note.
void StewardNodes::notify_stores(const MembershipNote& note) {
  notify_all(Role::store, note);
  notify_all(Role::directory, note);
}

}  // namespace tandem

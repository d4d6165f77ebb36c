// The steward of cache nodes and stores whose machines depart. Ranks that ask such a node or store are
// notified when it is gone and when it is back. When it is back, it is notified of who is there. The steward
// requests another machine for it immediately, whatever the recovery policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/machines.hpp"
#include "workloads/membership/membership.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/steward/place.hpp"
#include "workloads/roles/steward/steward_notices.hpp"

namespace tandem {

class StewardNodes {
 public:
  using MembershipNote = protocol::NoteOf<"membership">;
  /// `workers`: their slots, of which `membership` knows the members. The arguments must outlive it.
  StewardNodes(const Job& job, Context& context, StewardNotices& notices, std::span<const Place> workers,
               const Membership& membership);

  std::size_t size() const { return nodes_.size(); }
  /// The first node is in each slot as the job begins, or as this launch of it does.
  void occupy();
  void begin_again();
  /// Expects a note: the node ends, or a node in its slot has arrived.
  Pending listen(std::size_t number) const {
    return protocol::receive<"ends-of-job">(context_, nodes_[number].rank);
  }
  /// `next`: the next note of the node.
  void on_message(std::size_t number, const Note& note, Pending& next);

  /// The time of the next event of a machine; the time at which the wait for a store is over.
  std::optional<Seconds> next_of_machines() const { return machines_ ? machines_->next() : std::nullopt; }
  std::optional<Seconds> next_of_stores() const;
  /// Errors (both): WorldError when a store does not come back.
  void take_event(Seconds time);
  void give_up_stores(Seconds time) const;

  /// A worker joins or departs.
  void notify(const MembershipNote& note);
  /// No worker joins any more: a cache node ends when its workers have ended.
  void end_joins();
  bool is_ending() const { return is_ending_; }
  /// No node joins any more either: notifies the stores.
  void end_stores();
  bool have_all_ended() const;
  /// The job is over. `awaited`: by node, its next note.
  void end(std::span<Pending> awaited);

 private:
  /// The state of a cache node; where one of these or a store may depart, also of a store or the directory.
  struct Node : Place {
    std::int32_t index = 0;    ///< among those of its role
    bool is_present = true;    ///< the others were notified so
    bool is_starting = false;  ///< it has not reported yet that it is there
    bool has_ended = false;
    std::optional<Seconds> away_since = {};  ///< of a store: when its departure was noticed
  };

  void add_machines(Roster::Role role, std::span<const std::size_t> departing, std::size_t first);
  bool returns(const Node& node) const;
  bool has_ended(const Node& node) const;
  bool have_cache_nodes_ended() const;
  void note_left(const Node& node, int incarnation);
  void welcome(Node& node);
  void introduce(const Node& node);
  int incarnation_of(const Node& node) const;
  protocol::NodeJoined joined_note(const Node& node) const;
  void notify_clients(const Node& node, const MembershipNote& note);
  void notify_all(Roster::Role role, const MembershipNote& note);
  void notify_peers(const Node& node, const MembershipNote& note);
  bool is_peer(const Node& node, const Node& other) const;
  void notify_stores(const MembershipNote& note);

  const Job& job_;
  Context& context_;
  StewardNotices& notices_;
  std::span<const Place> workers_;
  const Membership& membership_;
  std::vector<Node> nodes_;                           ///< cache nodes first
  std::optional<Machines> machines_;                  ///< none: all of them stay
  std::vector<std::vector<std::size_t>> clients_of_;  ///< if one may depart: by cache node, its workers
  bool is_ending_ = false;
  bool has_ended_stores_ = false;  ///< they were notified that no worker joins any more
};

}  // namespace tandem

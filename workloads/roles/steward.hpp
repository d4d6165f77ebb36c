// The steward: knows which machines there are, asks the recovery policy what to do when they depart or come
// up, and tells servers and slots. Where workers exchange without servers, it leads their agreement on each
// change. Machines of cache nodes and stores that depart are asked for again at once, whatever the policy.
// When the steward's host departs, the job starts again.
//
// What happens to machines follows from their lifetimes and the policy alone. So where the job has started
// again after a process died, the steward of the new launch decides all of it again, up to the launch, and
// begins with the machines that there are then. It counts the time since the job began.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/recovery/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/slots_of_epoch.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/agreement.hpp"
#include "workloads/membership/machines.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/membership_file.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class Steward {
 public:
  /// The arguments must outlive it. Errors: ConfigError.
  Steward(const Job& job, Context& context, Journal& journal);
  /// Errors: WorldError when the policy gives up, or a store does not come back.
  void run();

 private:
  using MembershipNote = protocol::NoteOf<"membership">;

  /// A place where one machine after the other may be, each with an occupant.
  struct Place {
    Rank rank = 0;
    Roster::Role role = Roster::Role::worker;
    int worker = -1;                 ///< its slot among workers; -1: of another role
    Machines* machines = nullptr;    ///< where its machines are; null: its occupant stays
    int machine = -1;                ///< its slot among those
    int incarnation = 0;             ///< of its last machine
    int announced = 0;               ///< incarnation of its last occupant
    int before = 0;                  ///< incarnations before the first one that this launch knows
    bool is_gone = false;            ///< the machine of its last occupant
    bool departs_by_itself = false;  ///< its occupant knows when
    /// As this launch counts.
    int in_launch(int of_job) const { return of_job - before; }
    void begin_launch() { before = std::max(0, announced - 1); }
  };
  struct Slot : Place {
    bool is_member = false;   ///< as servers, or the other workers, know
    bool has_arrived = true;  ///< without servers: the occupant hears the steward's notes
  };
  /// Of a cache node; where one of these or a store may depart, also of a store or the directory.
  struct Node : Place {
    std::int32_t index = 0;    ///< among those of its role
    bool is_present = true;    ///< as the others know
    bool is_starting = false;  ///< it has not said yet that it is there
    bool has_ended = false;
    std::optional<Seconds> away_since = {};  ///< a store: noticed then
  };

  void start();
  void occupy_first_slots();
  void catch_up(Seconds launched);
  void begin_again();
  Seconds now() const;
  std::optional<Seconds> next_event() const;
  std::optional<Seconds> next_of_workers() const;
  bool handle_next(Seconds time);
  bool is_training_over() const;
  bool is_over() const;
  void wait_for_events();
  void give_up_in_vain();
  void pass_time(Seconds time);
  void hear_end(std::size_t decider);
  void end_joins();
  void note_event(Place& place, const MachineEvent& event);
  void handle(const MachineEvent& event);
  void give(const recovery::Event& event);
  void carry_out(const recovery::Decisions& decisions);
  void admit(int slot);
  void note_joined(int slot);
  void note_left(int slot, int incarnation);
  void pause(bool paused);
  void announce(Place& place);
  void tell_occupancy(const Place& place, int incarnation, Seconds departs);
  void tell_deciders(const MembershipNote& note);
  // Cache nodes and stores (steward_nodes.cpp):
  void add_nodes();
  void occupy_nodes();
  void begin_nodes_again();
  void add_machines(Roster::Role role, std::span<const std::size_t> departing, std::size_t first);
  void hear_node(Node& node, const Note& note);
  bool returns(const Node& node) const;
  bool has_ended(const Node& node) const;
  bool have_cache_nodes_ended() const;
  void end_stores();
  void end_nodes();
  void handle_node(const MachineEvent& event);
  std::optional<Seconds> next_of_stores() const;
  void give_up_stores(Seconds time) const;
  void note_node_left(const Node& node, int incarnation);
  void welcome_node(Node& node);
  void introduce(const Node& node);
  int incarnation_of(const Node& node) const;
  protocol::NodeJoined joined_note(const Node& node) const;
  void tell_clients(const Node& node, const MembershipNote& note);
  void tell_all(Roster::Role role, const MembershipNote& note);
  void tell_peers(const Node& node, const MembershipNote& note);
  bool is_peer(const Node& node, const Node& other) const;
  void tell_stores(const MembershipNote& note);
  // Where workers exchange without servers (steward_groups.cpp):
  void listen_to_group(int slot);
  void hear_group(int slot, const Note& note);
  void advance_agreement();
  void tell_members(const Agreement::Members& members);
  void end_groups();
  void tell_change(int slot);
  Slice keep_standings(protocol::SlotsOfEpoch slots);
  /// All receivers expect notes at any time, so no note waits.
  template <protocol::Name stream>
  void tell(Rank rank, const protocol::NoteOf<stream>& note, Slice slice = {}) {
    if (!past_) told_.push_back(protocol::send<stream>(context_, rank, note, slice));
  }
  void record(const Place& place, const std::string& event, const std::string& cause = "");
  void note(const MembershipRecord& change);

  const Job& job_;
  Context& context_;
  Journal& journal_;
  MembershipFile known_;  ///< the same as in the journal
  Seconds began_{};       ///< this launch, since the job began
  /// Before this launch: what happened then is decided again, and nobody is told. None: now.
  std::optional<Seconds> past_;
  Machines machines_;
  std::unique_ptr<recovery::Policy> policy_;
  std::vector<Slot> slots_;
  std::span<const Rank> deciders_;
  std::vector<Node> nodes_;                           ///< cache nodes first
  std::optional<Machines> node_machines_;             ///< none: all of them stay
  std::vector<std::vector<std::size_t>> clients_of_;  ///< where they may not: by cache node, its workers
  std::optional<Agreement> agreement_;                ///< of workers without servers
  /// Ends of deciders and nodes; without servers, the next note of each worker; then the next event.
  std::vector<Pending> awaited_;
  std::vector<Pending> told_;
  std::deque<std::vector<std::byte>> standings_;  ///< that were told
  std::optional<Seconds> tick_;                   ///< that the policy has asked for
  std::int64_t epoch_ = 0;
  std::size_t running_deciders_;
  bool is_ending_ = false;         ///< no worker joins any more
  bool has_ended_stores_ = false;  ///< they know that nobody joins any more
  bool has_told_end_ = false;      ///< to the deciders
  bool is_paused_ = false;
};

}  // namespace tandem

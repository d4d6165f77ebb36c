// The steward: knows which machines there are, asks the recovery policy what to do when they depart or come
// up, and tells servers and slots. Where workers exchange without servers, it leads their agreement on each
// change.
// When the steward's host departs, the job starts again.
//
// What happens to machines follows from their lifetimes and the policy alone. So where the job has started
// again after a process died, the steward of the new launch decides all of it again, up to the launch, and
// begins with the machines that there are then. It counts the time since the job began.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/recovery/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/machines.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/steward/place.hpp"
#include "workloads/roles/steward/steward_groups.hpp"
#include "workloads/roles/steward/steward_nodes.hpp"
#include "workloads/roles/steward/steward_notices.hpp"

namespace tandem {

class Steward {
 public:
  /// The arguments must outlive it. Errors: ConfigError.
  Steward(const Job& job, Context& context, Journal& journal);
  /// Errors: WorldError when the policy gives up, or a store does not come back.
  void run();

 private:
  using MembershipNote = protocol::NoteOf<"membership">;

  void start();
  void occupy_first_slots();
  void catch_up(Seconds launched);
  void begin_again();
  std::optional<Seconds> next_event() const;
  bool handle_next(Seconds time);
  bool is_training_over() const;
  bool is_over() const;
  void wait_for_events();
  void hear(std::size_t entry, const Note& note);
  void give_up_in_vain();
  void pass_time(Seconds time);
  void hear_end(std::size_t decider);
  void handle(const MachineEvent& event);
  void give(const recovery::Event& event);
  void carry_out(const recovery::Decisions& decisions);
  void admit(int slot);
  void note_joined(int slot);
  void note_left(int slot, int incarnation);
  void pause(bool paused);
  void tell_deciders(const MembershipNote& note);
  WorkerPlace& at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }

  const Job& job_;
  Context& context_;
  Journal& journal_;
  StewardNotices notices_;
  Machines machines_;
  std::unique_ptr<recovery::Policy> policy_;
  std::vector<WorkerPlace> slots_;
  std::span<const Rank> deciders_;
  StewardNodes nodes_;
  std::optional<StewardGroups> groups_;  ///< of workers without servers
  /// Ends of deciders and nodes; without servers, the next note of each worker; then the next event.
  std::vector<Pending> awaited_;
  std::optional<Seconds> tick_;  ///< that the policy has asked for
  std::size_t running_deciders_;
  bool has_told_end_ = false;  ///< to the deciders
  bool is_paused_ = false;
};

}  // namespace tandem

// The steward of a job that continues in place: carries out what follows from its Membership, by notes to
// servers and slots. Where workers exchange without servers, it leads their agreement on each change.
// When the steward's host departs, the job starts again: the steward of the new launch lets its Membership
// pass the time before that, and begins with the machines that there are then. It counts the time since the
// job began.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/membership.hpp"
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
  void begin();
  void catch_up(Seconds launched);
  void begin_again();
  std::optional<Seconds> next_event() const;
  bool handle_next(Seconds time);
  bool is_training_over() const;
  bool is_over() const;
  void wait_for_events();
  void on_message(std::size_t entry, const Note& note);
  void give_up_in_vain();
  void pass_time(Seconds time);
  void on_end(std::size_t decider);
  void end_joins();
  void perform(const Membership::Step& step);
  void carry_out(const MemberAction& action);
  void admit(const MemberAction& joined);
  void note_joined(int slot);
  void note_left(int slot, int incarnation);
  void notify_deciders(const MembershipNote& note);
  Place& at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }

  const Job& job_;
  Context& context_;
  Journal& journal_;
  StewardNotices notices_;
  Membership membership_;
  std::vector<Place> slots_;
  std::span<const Rank> deciders_;
  StewardNodes nodes_;
  std::optional<StewardGroups> groups_;  ///< of workers without servers
  /// Ends of deciders and nodes; without servers, the next note of each worker; then the next event.
  std::vector<Pending> awaited_;
  std::size_t running_deciders_;
  bool has_announced_end_ = false;  ///< to the deciders
};

}  // namespace tandem

// When the generations of a job with departing machines end, and when and with which workers the next ones
// begin, by its Membership. Pure, without a clock: the same object serves a simulation and the launcher of a
// measured job.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/recovery/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/membership/machines.hpp"
#include "workloads/membership/membership.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// Times are seconds since the job began. A generation has the workers that the policy has admitted, each
/// with its machine. It ends when one of these machines departs, or when the policy starts all again with
/// other workers. The next one begins when the policy does not pause and all admitted workers have their
/// machines. Machines without workers that every generation needs may depart, too. They are requested again
/// in any case, and the policy does not know of them.
class RestartSteward {
 public:
  /// The next generation does not begin until the time that is given.
  struct TooLate : WorldError {
    using WorldError::WorldError;
  };
  /// A machine that every generation needs, in a slot after those of all workers.
  struct Needed {
    std::string host;
    std::string roles;  ///< of its ranks, for the user
  };
  /// The first generation begins at time 0, with a machine in each slot. `hosts`: of the workers' slots.
  /// `policy`: null: another steward cares for the workers, whose machines end no generation.
  /// Errors: ConfigError if the lifetime model has no machine in a slot.
  RestartSteward(Machines machines, std::unique_ptr<recovery::Policy> policy, std::vector<std::string> hosts,
                 std::vector<Needed> needed = {});

  /// Why a generation ends: the machine of a slot departs, or has come up.
  struct End {
    Seconds at{};
    int slot = 0;
    int incarnation = 0;
    std::string host = {};
    std::optional<DepartureKind> how = {};  ///< none: it has come up, and all workers start again
    std::string roles = {};                 ///< of a needed machine; empty: it is a worker's
  };
  /// The end of the present generation; none: its machines stay.
  const std::optional<End>& end_of_generation() const { return end_; }
  /// The workers' slots of the present generation, in ascending order.
  const std::vector<int>& members() const { return members_; }
  /// The present generation has ended. Returns when the next one begins, with its members(). Pre:
  /// end_of_generation(). Errors: WorldError when the policy gives up, or machines are no longer available;
  /// TooLate.
  Seconds begin_next(std::optional<Seconds> latest = std::nullopt);

  /// Slots whose machines departed between the end of the last generation and the beginning of this one, or
  /// while the last generation ran without them.
  const std::vector<int>& departed_meanwhile() const { return departed_meanwhile_; }

  /// The events of the machines, and the decisions of the policy, up to the end of the generation that runs.
  const std::vector<MembershipRecord>& membership() const { return records_; }
  std::vector<TimedDecision> decisions() const;
  /// Warnings that machines of this generation get until its end, and those that they have had.
  const std::vector<DrawnWarning>& warnings() const { return warnings_; }

 private:
  struct Slot {
    std::string host;
    std::string roles = {};  ///< of a needed machine; empty: a worker's
  };
  /// Texts take longer than decisions, and few callers need them.
  struct Decided {
    Seconds at{};
    recovery::Event event;
    recovery::Decisions decisions;
  };
  static std::vector<Slot> slots_of(std::vector<std::string> hosts, std::vector<Needed> needed);
  const Slot& at(int slot) const { return slots_.at(static_cast<std::size_t>(slot)); }
  bool is_needed(int slot) const { return slot >= workers_; }
  bool is_due(Seconds time) const;
  void look_ahead();
  void start_if_complete(Seconds now);
  void end_if_changed(Seconds now);
  void perform(const Membership::Step& step);
  void carry_out(const MemberAction& action);
  void note_event(const MemberAction& action);
  void note_departure(const MachineEvent& event);
  void record(const MemberAction& action, const std::string& event, const std::string& cause = "");

  int workers_;              ///< slots of these come first
  std::vector<Slot> slots_;  ///< then those of needed machines
  Membership membership_;
  std::optional<Seconds> start_;  ///< of the generation that runs or is about to
  std::optional<End> end_;        ///< of that generation
  std::vector<int> members_;      ///< of that generation
  std::vector<int> departed_meanwhile_;
  std::vector<int> departed_apart_;  ///< while the generation runs without them
  std::vector<MembershipRecord> records_;
  std::vector<Decided> decided_;
  std::vector<DrawnWarning> warnings_;
};

}  // namespace tandem

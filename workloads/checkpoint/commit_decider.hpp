// The rank that decides after which rounds the job commits: its policy, and the rounds and commits that are
// events of the policy. Without messages, files or a clock: times arrive with the calls. Every rank that may
// have to decide later has a decider, too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/checkpoint/commit_group.hpp"
#include "workloads/checkpoint/commit_restart.hpp"
#include "workloads/checkpoint/commit_schedule.hpp"
#include "workloads/job/plan/commit_machines.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class CommitDecider {
 public:
  /// Records commits and decisions in the journal. The arguments must outlive it.
  CommitDecider(const Job& job, const CommitGroup& group, Journal& journal);

  /// The job starts again from this commit; none: it is not known when its parts were written.
  void restart_from(std::optional<RestartCommit> commit);
  /// The next round to be done is the one after `round`, and begins now.
  void begin_rounds(Seconds now, std::int64_t round);
  /// The same. This rank decides with a new policy, or with the one that has written the commit from which
  /// the job starts again.
  void begin(Seconds now, std::int64_t round);
  /// This rank decides from the end of its last round on. `before`: history of the rank that has decided
  /// before.
  void take_over(const CommitHistory& before);
  /// Another view of the members begins. A commit that was decided and has not begun follows later, because
  /// not all of them know of it.
  void postpone();
  /// Another rank decides from now on. Returns the history that it needs; none: this rank has not decided.
  std::optional<CommitHistory> resign();
  bool decides() const { return schedule_.has_value(); }

  /// On all ranks, also those that do not decide: the last round that was done.
  std::int64_t last_round() const { return last_round_; }
  /// Training has waited for `blocked` for a commit in this round.
  void add_blocked(Seconds blocked) { blocked_in_round_ += blocked; }

  // Pre: decides()

  /// `ends`: the job ends with a commit after this round.
  void round_done(Seconds now, std::int64_t round, int workers, bool ends);
  /// What the others need to know about the round that is decided next.
  protocol::Planned planned() const;
  void warned(Seconds now, Rank rank, Seconds departs);
  /// The job is to end with a commit, if that is possible.
  void request_end();
  bool ends_after(std::int64_t round) const;
  bool is_due(std::int64_t round) const { return schedule_->is_due(round); }
  std::int64_t decided() const { return schedule_->decided(); }
  CommitHistory history() const { return schedule_->history(); }

  /// All parts of the commit are stored. It counts now, or when all records up to it are written.
  void complete(Seconds now, const CommitRecord& commit);
  void fail(Seconds now);
  /// The commit of this round is the last one that counts.
  void note_counted(Seconds now, std::int64_t counted);
  /// Adds the policy's state, with which the next generation continues.
  void note_policy(SavedState& state, Seconds now) const;

 private:
  void make_schedule();
  std::vector<checkpointing::Event> events_before() const;
  std::int64_t next_planned() const { return last_round_ + group_.plan().announced.ahead; }

  const Job& job_;
  const CommitGroup& group_;
  Journal& journal_;
  std::optional<CommitSchedule> schedule_;
  std::vector<CommitMachine> machines_;    ///< that the policy knows
  std::optional<RestartCommit> restart_;   ///< from which the job starts again
  std::optional<CommitRecord> uncounted_;  ///< the last complete commit, if records decide whether it counts
  bool ends_ = false;                      ///< the job is to end with a commit
  std::int64_t ends_after_ = 0;            ///< that commit, if it is decided in advance; 0: not yet
  std::int64_t last_round_ = 0;
  Seconds round_began_{};
  Seconds blocked_in_round_{};
};

}  // namespace tandem

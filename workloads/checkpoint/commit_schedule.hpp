// After which rounds a job commits its state, by its checkpointing policy. Passes the policy its events and
// keeps its decisions. Without files, messages or a clock: times arrive with the calls.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/checkpointing/policy.hpp"

namespace tandem {

/// What a policy object needs to continue after another one.
struct CommitHistory {
  std::int64_t round = 0;  ///< the last complete commit; 0: there is none
  Seconds blocked = {};    ///< for how long that commit blocked the job
  Seconds work = {};       ///< durations of the rounds since the policy's last decision
  friend auto operator<=>(const CommitHistory&, const CommitHistory&) = default;
};

class CommitSchedule {
 public:
  struct Setting {
    /// A commit is decided so many rounds before its round, so that other ranks can learn of it. A plan in
    /// seconds then assumes that these rounds take as long as the last one.
    int ahead = 0;
    /// A plan in rounds counts from the round of the last commit, not from the round in which that commit
    /// was complete.
    bool counts_from_commit = false;
    /// Rounds between commits, where other ranks count them by themselves. After a failed commit, too, the
    /// next one is so many rounds later. 0: other ranks are notified of each commit.
    std::int64_t every = 0;
    /// A complete commit counts later, when other ranks have written their records.
    bool counts_later = false;
    /// When these ranks have begun. Events of the policy have times since the job began; all calls have
    /// times since the ranks began.
    Seconds began = {};
  };
  /// `log`: called with each event and the decisions on it; may be empty.
  using Log = std::function<void(const std::string& event, const std::string& decisions)>;
  CommitSchedule(std::unique_ptr<checkpointing::Policy> policy, Setting setting, Log log);

  using Events = std::vector<checkpointing::Event>;

  /// The policy continues from the state of another one. Pre: called before all other calls.
  void restore(const std::string& state);
  /// The argument of restore().
  std::string state() const { return serialised(*policy_); }

  /// The job computes from `round` on. `before`: events of machines and commits until then that the policy
  /// does not know, in the order of time. Pre: called once, before all later calls.
  void begin(Seconds now, std::int64_t round, const Events& before);
  /// The same, if another policy has decided before: the job has computed since time 0. A plan in rounds
  /// counts from `since`, and a plan in seconds from the last decision of that policy.
  void continue_from(Seconds now, std::int64_t round, std::int64_t since, const Events& before,
                     const CommitHistory& history);
  CommitHistory history() const { return {last_.round, last_.blocked, work_}; }
  /// `duration`: of the round, without commits. `ends`: the job ends with a commit after this round,
  /// whatever was planned.
  void round_done(Seconds now, std::int64_t round, int workers, Seconds duration, bool ends = false);
  /// The machine in a slot will be taken away after this time. The policy gets less time, if commits are
  /// decided in advance, by the round that passes until its commit begins; also if commits count later.
  void warned(Seconds now, int slot, Seconds notice);
  /// The last commit counted after it was complete by this time.
  void counted_after(Seconds time) { until_counted_ = time; }
  /// Commits after the round in progress, whatever the policy plans. Pre: no other rank counts rounds.
  void request() { requested_ = true; }
  /// The commit in progress has not begun, and follows a later round instead. Pre: is_under_way().
  void postpone();
  /// The state after this round is committed. Pre: round_done(round) was called.
  bool is_due(std::int64_t round) const { return round > 0 && due_ == round; }
  /// The round of the last commit that was decided, also of one that is still to come; 0: none.
  std::int64_t decided() const { return due_; }
  /// The commit is complete, and blocked the job for `blocked`; or it was given up.
  void committed(Seconds now, Seconds blocked);
  void commit_failed(Seconds now);
  /// A commit was decided, and has not ended.
  bool is_under_way() const { return under_way_; }

 private:
  void give(const checkpointing::Event& event, std::int64_t from_round);
  bool is_planned_for(std::int64_t round, Seconds more_work) const;
  void catch_up(const Events& before, std::int64_t round);
  Seconds in_job(Seconds now) const { return setting_.began + now; }

  std::unique_ptr<checkpointing::Policy> policy_;
  Setting setting_;
  Log log_;
  std::int64_t round_ = 0;  ///< the last one that ended
  Seconds duration_;        ///< of that round
  std::int64_t due_ = 0;
  Seconds due_began_;        ///< when that round ended
  CommitHistory last_ = {};  ///< without the work since
  std::optional<Seconds> until_counted_;
  bool under_way_ = false;
  bool requested_ = false;  ///< CommitNow
  std::optional<std::int64_t> planned_round_;
  std::optional<Seconds> planned_work_;  ///< from the decision to the commit
  Seconds work_;                         ///< since that decision
};

}  // namespace tandem

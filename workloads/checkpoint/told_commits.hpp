// The rounds after which a job without servers commits, as the worker that decides tells the others. It tells
// them after each of its rounds about one that is so many rounds later (CommitPlan::told_ahead), and a worker
// does not pass a round about which it was not told. So all of them commit after the same round, and none
// waits, unless it is further ahead of the one that decides.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/checkpoint/commit_schedule.hpp"
#include "workloads/context.hpp"
#include "workloads/protocol.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

class ToldCommits {
 public:
  /// `ahead`: CommitPlan::told_ahead. `context` must outlive it.
  ToldCommits(Context& context, int ahead) : context_(context), ahead_(ahead) {}

  /// The job, or another set of its workers, computes from `round` on. There are no commits within the first
  /// `ahead` rounds. What an earlier decider has told must have ended.
  void begin_as_decider(std::int64_t round, std::vector<Rank> others);
  void begin(std::int64_t round, Rank decider);
  /// Takes what has arrived.
  void hear();
  /// No more rounds follow. What arrives later is ignored.
  void end_listening();
  void finish();

  /// What the last policy has left, as far as this rank knows.
  const CommitHistory& history() const { return history_; }
  void set_history(const CommitHistory& history) { history_ = history; }

  // On the rank that decides:

  /// After `round`: whether the job commits `ahead` rounds later, and ends then.
  void tell(std::int64_t round, bool commits, bool ends, const CommitHistory& history);
  /// A commit is complete.
  void tell(const CommitHistory& history);

  // On the others:

  /// Nothing is known yet about the commit after this round: next() has to be awaited and taken.
  bool is_needed(std::int64_t round) const;
  Pending& next() { return listening_.front(); }
  void take(const Completion& told);
  /// The last commit of which this rank was told; 0: none. Where it ends the job, ends() is true.
  std::int64_t commit_round() const { return commit_round_; }
  bool ends() const { return ends_; }

 private:
  void begin_at(std::int64_t round);
  void listen();
  void send(bool commits, bool ends, const CommitHistory& history);

  Context& context_;
  int ahead_;
  CommitHistory history_ = {};
  std::int64_t known_ = 0;  ///< the last round about which this rank was told, or has told others
  std::int64_t commit_round_ = 0;
  bool ends_ = false;
  Rank decider_ = 0;
  /// Of Planned, from that rank. Several, since only a message that meets a receive is known to have arrived.
  std::vector<Pending> listening_;
  std::vector<Rank> others_;
  std::vector<Pending> told_;
};

}  // namespace tandem

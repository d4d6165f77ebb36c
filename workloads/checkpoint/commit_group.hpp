// The ranks that commit together, the part of each in a commit, and their messages to each other. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/job/plan/job.hpp"

namespace tandem {

class CommitGroup {
 public:
  /// For this rank, as the job begins. `job` must outlive it.
  CommitGroup(const Job& job, Rank rank);

  /// Workers come and go, and those that are present commit together (CommitPlan::by_members).
  bool changes() const { return plan_.by_members; }
  /// These workers commit from now on, and the first of them decides. `view`: protocol::Stored. Pre:
  /// changes().
  void begin_view(std::span<const int> workers, std::int32_t view);
  bool is_in_view() const { return is_in_view_; }
  std::int32_t view() const { return view_; }

  const CommitPlan& plan() const { return plan_; }
  Rank rank() const { return rank_; }
  /// The rank that decides after which rounds the job commits.
  Rank decider() const { return decider_; }
  /// The ranks whose parts make a commit complete.
  std::span<const Rank> parts() const { return parts_; }
  bool is_worker(Rank rank) const;
  Bytes size_of(Rank rank) const;

  // This rank:

  bool decides() const { return has_part_ && rank_ == decider_; }
  /// It writes its state with a commit.
  bool has_part() const { return has_part_; }
  /// A commit is not complete without this part.
  bool is_awaited() const { return is_awaited_; }
  bool writes_model() const { return rank_ == writer_; }
  /// It learns of commits with the replies to its pushes.
  bool learns_with_replies() const { return plan_.announced.has_replies() && is_worker(rank_); }
  /// It counts the rounds from one commit to the next.
  bool counts() const { return plan_.announced.every > 0 && !learns_with_replies(); }

  /// The rank that decides sends a message about each round in advance.
  bool plans_on_stream() const { return plan_.announced.by == CommitAnnouncement::By::stream; }
  /// Workers finish different rounds. If ranks keep records, because the job may start again, a commit
  /// counts only when each worker has written its records up to it (RecordTally).
  bool confirms_records() const { return confirms_records_; }
  /// The ranks whose records count.
  std::span<const Rank> recorders() const { return job_.roster().workers(); }
  /// The rank that decides notifies the others which commits are complete.
  bool announces_complete() const;
  /// Another rank decides, and this rank needs its messages, because this rank removes files, or writes
  /// commits or records.
  bool listens() const;
  /// The ranks that listen to this one.
  std::vector<Rank> listeners() const;

 private:
  const Job& job_;
  const CommitPlan& plan_;
  Rank rank_;
  bool has_part_;
  bool is_awaited_;
  bool confirms_records_;
  std::vector<Rank> parts_;
  Rank decider_;
  Rank writer_;
  std::int32_t view_;
  bool is_in_view_ = false;
};

}  // namespace tandem

// A rank's part in the commits of a job: when the rank writes its state, how long training waits for that,
// and, on the rank that decides, when a commit is complete. Files exist only with real mathematics; modelled
// mathematics has the same times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "workloads/checkpoint/commit_decider.hpp"
#include "workloads/checkpoint/commit_files.hpp"
#include "workloads/checkpoint/commit_group.hpp"
#include "workloads/checkpoint/commit_line.hpp"
#include "workloads/checkpoint/machine_warnings.hpp"
#include "workloads/checkpoint/own_parts.hpp"
#include "workloads/checkpoint/stored_parts.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// A role calls start, then for each of its rounds round_done, and if is_due then begin and write; at the
/// end of the job finish. Without a checkpointing policy is_due is always false.
class Commits {
 public:
  /// `wait`: waits for a message of another rank. The references must outlive it.
  Commits(const Job& job, Context& context, Journal& journal, WaitForRank wait);

  // Where the workers that are present commit together (CommitPlan::by_members):

  /// All messages with other workers are about to end.
  void end_view();
  /// These workers, of whom this is one, commit from now on; so many rounds are finished. A commit that is
  /// not complete does not count; the next one is at the same round as if it had been. `view`:
  /// protocol::Stored.
  void begin_view(std::span<const int> workers, std::int64_t round, std::int32_t view);
  /// The values that a worker needs in order to decide, if it joins or is behind.
  void serialise_common(StateArchive& state);
  /// On the worker that decides, for the coordinator: the next commit, or the last one; 0: none, or the
  /// coordinator knows it.
  std::int64_t next_decided() const;

  /// The job computes from this round on. If it starts again, this rank first reads its state, which takes
  /// as long as reading its part of a commit.
  void start(std::int64_t round);
  /// A step that does not end a round has ended on this rank.
  void step_done();
  /// A round has ended on this rank, or a step that ends no round. `is_last`: the job ends with it, and all
  /// ranks of the commit know that.
  void round_done(std::int64_t round, int workers, bool is_last = false);
  /// Collects warnings, and notifies the rank that decides, as start, step_done and round_done do. A worker
  /// calls this before its last message of a round, so that the decision about that round takes them into
  /// account. After the round it would be late by one.
  void take_warnings();
  /// The decider has announced a commit after this round (protocol::Reply). Or, where workers come and go,
  /// the coordinator has written its part. 0: none.
  void learn(std::int64_t round);
  /// By which a worker learns which commits need its records, and says that it has written them.
  CommitLine& line() { return line_; }
  /// The commit that the decider announces with a reply.
  std::int64_t announced() const;
  /// This rank has to write its part after this round, and has not yet.
  bool is_due(std::int64_t round) const;
  /// The job was asked to end with a commit, and ends after this round. Known on the rank that decides, and
  /// on those that it notifies.
  bool ends_job_after(std::int64_t round) const;

  /// The parts that this rank writes.
  OwnParts& own() { return own_; }
  /// Training waits on this rank from now on. Waits for the end of an earlier write.
  void begin(std::int64_t round);
  /// Training waits until the part is written, or in the background until it is copied. If a part cannot be
  /// written (the disk is full), the commit fails: the one before counts, and training continues.
  void write(PartOfCommit part);
  /// Waits for the end of the commit in progress.
  void finish();

 private:
  void begin_at(std::int64_t round);
  void begin_members(std::int64_t round);
  void count_from(std::int64_t round);
  void follow_from(std::int64_t round);
  void note(const std::optional<protocol::Stored>& part);
  void collect(bool waits);
  void complete();

  const Job& job_;
  const CommitPlan& plan_;
  Context& context_;
  WaitForRank wait_;
  CommitGroup group_;
  CommitLine line_;
  CommitDecider decider_;
  StoredParts stored_;
  OwnParts own_;
  MachineWarnings warnings_;

  std::int64_t confirmed_ = 0;    ///< the coordinator has written its part of this commit
  std::int64_t last_stored_ = 0;  ///< round of the last part of this rank that was written
  bool is_counted_ = true;        ///< the last commit counts, unless its view has ended
  bool has_finished_ = false;
  std::int64_t last_of_job_ = 0;  ///< the job's last round, if the job commits after it; 0: not known yet
};

}  // namespace tandem

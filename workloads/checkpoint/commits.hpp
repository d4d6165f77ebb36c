// A rank's part in the commits of a job: when the rank writes its state, how long training waits for that,
// and, on the rank that decides, when a commit is complete. Files exist only with real mathematics; times are
// the same without.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "workloads/checkpoint/commit_files.hpp"
#include "workloads/checkpoint/commit_line.hpp"
#include "workloads/checkpoint/commit_protocol.hpp"
#include "workloads/checkpoint/commit_restart.hpp"
#include "workloads/checkpoint/commit_schedule.hpp"
#include "workloads/checkpoint/machine_warnings.hpp"
#include "workloads/checkpoint/part_writer.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/commit_machines.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// A role calls start, then for each of its rounds round_done, and if is_due then begin and write; at the end
/// of the job finish. Without a checkpointing policy nothing is ever due.
class Commits {
 public:
  /// The arguments must outlive it.
  Commits(const Job& job, Context& context, Journal& journal);

  // Where the workers that are present commit together (CommitPlan::by_members):

  /// Waits for a message with another worker; none: another view has begun meanwhile.
  using WaitForWorker = std::function<std::optional<Completion>(Pending& until)>;
  /// To be called before anything else.
  void set_wait(WaitForWorker wait) { wait_ = std::move(wait); }
  /// All messages with other workers are about to end.
  void end_view();
  /// These workers, of whom this is one, commit from now on; so many rounds are finished. A commit that is
  /// not complete does not count, and the next one is due as if it had been. `view`: protocol::Stored.
  void begin_view(std::span<const int> workers, std::int64_t round, std::int32_t view);
  /// What a worker that joins or is behind needs in order to decide.
  void serialise_common(StateArchive& state);
  /// Of the worker that decides, for the coordinator: the next commit, or the last one; 0: none, or the
  /// coordinator knows it.
  std::int64_t next_decided() const;

  /// The job computes from this round on. Where it starts again, this rank first reads its state, which takes
  /// as long as reading what it writes with a commit.
  void start(std::int64_t round);
  /// A step that does not end a round has ended on this rank.
  void step_done();
  /// A round has ended on this rank, or only a step of it. `is_last`: the job ends with it, as all ranks of
  /// the commit know.
  void round_done(std::int64_t round, int workers, bool is_last = false);
  /// Learns of warnings, and notifies the rank that decides, as start, step_done and round_done do. A worker
  /// calls this before its last message of a round: the decision about that round then knows of it. After the
  /// round it would be late by one.
  void hear_warnings();
  /// The decider has announced a commit after this round (protocol::Reply), or where workers come and go, the
  /// coordinator has written its part; 0: none.
  void hear(std::int64_t round);
  /// Workers finish different rounds, and commits count when this one has written its records.
  bool awaits_records() const { return confirms_records() && line_.listens(); }
  /// The last complete commit for which it has not yet; 0: none.
  std::int64_t unrecorded();
  /// This worker has written its records up to that commit.
  void note_recorded(std::int64_t round) { line_.send_recorded(round); }
  /// This worker has ended and written all its records.
  void note_all_recorded();
  /// What the decider announces with a reply.
  std::int64_t announced() const;
  /// This rank writes its part after this round, and has not yet.
  bool is_due(std::int64_t round) const;
  /// The job ends with the commit after this round, as it was asked to. On the rank that decides, and on
  /// those that it notifies.
  bool ends_job_after(std::int64_t round) const;

  /// Where servers commit for workers that come and go: up to this commit all of these have written their
  /// records. The last one of which that is true stays, with those after it.
  void set_recorded(std::int64_t round) {
    if (job_.generation() != nullptr) recorded_ = round;
  }
  bool are_announced_ahead() const { return plan_.announced_by_reply && plan_.ahead > 0; }

  /// There is a state to write: mathematics is real, or the job starts again (CheckpointPlan::has_states).
  bool keeps_files() const { return keeps_files_; }
  /// Training waits on this rank from now on. Waits for the end of an earlier write.
  void begin(std::int64_t round);
  /// Training waits until the part is written, or in the background until it is copied. If a part cannot be
  /// written (the disk is full), the commit fails: the one before counts, and training continues.
  void write(PartOfCommit part);
  /// Waits for the end of the commit that is under way.
  void finish();

 private:
  /// From another rank: its part of the commit that is under way.
  struct PartLine {
    Rank rank;
    Pending next;  ///< Stored
  };

  void make_schedule();
  void record_restart();
  std::vector<checkpointing::Event> events_before() const;
  void note_policy(SavedState& state) const;
  void begin_at(std::int64_t round);
  void begin_members(std::int64_t round);
  void count_from(std::int64_t round);
  void follow_from(std::int64_t round);
  void begin_rounds(std::int64_t round);
  void take_over();
  void await_decision(std::int64_t round);
  void send_planned(std::int64_t round, bool commits, bool ends);
  void collect(bool waits);
  bool take(PartLine& line, const Completion& stored);
  void note_written();
  void complete();
  void note_counted();
  void remove_old(int keep);
  void remove(std::span<const WrittenParts::Part> parts);
  bool is_complete(std::int64_t round) const;
  bool is_worker(Rank rank) const;
  Bytes size_of(Rank rank) const;
  bool writes_model_of(Rank rank) const;
  bool confirms_records() const { return plan_.confirms_records && job_.generation() != nullptr; }
  /// The decider notifies the other ranks which commits are complete.
  bool tells_complete() const { return confirms_records() || (plan_.keep > 0 && plan_.are_parts_apart); }
  /// It decides some rounds in advance, in messages of their own.
  bool tells_ahead() const { return !plan_.announced_by_reply && plan_.ahead > 0; }
  void open_line();
  bool listens() const;
  std::vector<Rank> listeners() const;

  const Job& job_;
  const CommitPlan& plan_;
  Context& context_;
  Journal& journal_;
  WaitForWorker wait_;
  bool keeps_files_;
  bool has_part_;    ///< writes its state with a commit
  bool is_awaited_;  ///< and the commit is not complete without it

  // Of the members that commit together:
  std::vector<Rank> parts_;  ///< the ranks without whose part a commit is not complete
  Rank decider_;
  std::int32_t view_;
  bool is_in_view_ = false;

  CommitKnowledge knowledge_;
  CommitLine line_;
  CommitTally tally_;            ///< on the rank that decides
  std::vector<PartLine> lines_;  ///< the same
  WrittenParts written_;
  CommitFiles files_;
  PartWriter writer_;
  MachineWarnings warnings_;
  std::optional<CommitSchedule> schedule_;  ///< on the rank that decides
  std::vector<CommitMachine> machines_;     ///< that its policy knows
  std::optional<RestartCommit> restart_;    ///< from which the job starts again

  std::int64_t confirmed_ = 0;             ///< the coordinator has written its part of this commit
  std::optional<std::int64_t> recorded_;   ///< see set_recorded; none: it does not matter
  std::optional<CommitRecord> uncounted_;  ///< the last complete one, where records decide whether it counts
  std::int64_t begun_;                     ///< round of its last commit, or where the job began
  std::int64_t stored_ = 0;                ///< round of the last part of this rank that was written
  bool is_counted_ = true;                 ///< the last commit, unless its view has ended
  bool has_finished_ = false;
  bool ends_ = false;            ///< the job is to end with a commit
  std::int64_t ends_after_ = 0;  ///< that one, as the others know it; 0: not yet
  Pending sent_;                 ///< the last Stored

  Seconds started_{};  ///< its last commit
  Seconds blocked_{};  ///< by its part of the last commit
  std::int64_t last_round_ = 0;
  std::int64_t last_of_job_ = 0;  ///< the job's last round, if the job commits after it; 0: not known yet
  Seconds round_began_{};
  Seconds blocked_in_round_{};
};

}  // namespace tandem

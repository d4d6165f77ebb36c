// A rank's part in the commits of a job: when the rank writes its state, how long training waits for that,
// and, on the rank that decides, when a commit is complete. Files exist only with real mathematics; times are
// the same without.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/checkpoint/commit_schedule.hpp"
#include "workloads/checkpoint/last_commit.hpp"
#include "workloads/checkpoint/memory_copies.hpp"
#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/checkpoint/told_commits.hpp"
#include "workloads/context.hpp"
#include "workloads/job/job.hpp"
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

  /// Waits for a message with another worker; none: another epoch has begun meanwhile.
  using WaitForWorker = std::function<std::optional<Completion>(Pending& until)>;
  /// To be called before anything else.
  void set_wait(WaitForWorker wait) { wait_ = std::move(wait); }
  /// All messages with other workers are about to end.
  void end_epoch();
  /// These workers, of whom this is one, commit from now on; so many rounds are finished. A commit that is
  /// not complete does not count, and the next one is due as if it had been.
  void begin_epoch(std::span<const int> workers, std::int64_t round);
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
  /// A round has ended on this rank, or only a step of it.
  void round_done(std::int64_t round, int workers);
  /// Learns of warnings, and tells the rank that decides, as start, step_done and round_done do. A worker
  /// calls this before its last message of a round: the decision about that round then knows of it. After the
  /// round it would be late by one.
  void hear_warnings();
  /// The decider has announced a commit after this round (protocol::Reply), or where workers come and go, the
  /// coordinator has written its part; 0: none.
  void hear(std::int64_t round) { heard_ = std::max(heard_, round); }
  /// Workers finish different rounds, and commits count when this one has written its records.
  bool awaits_records() const { return confirms_records() && last_.listens(); }
  /// The last complete commit for which it has not yet; 0: none.
  std::int64_t unrecorded() { return confirms_records() ? last_.unrecorded() : 0; }
  /// This worker has written its records up to that commit.
  void note_recorded(std::int64_t round) { last_.note_recorded(round); }
  /// This worker has ended and written all its records.
  void note_all_recorded() { last_.note_all_recorded(); }
  /// What the decider announces with a reply.
  std::int64_t announced() const;
  /// This rank writes its part after this round, and has not yet.
  bool is_due(std::int64_t round) const;

  /// The job ends with the commit after this round, as it was asked to. On the rank that decides, and on
  /// those that it tells.
  bool ends_job_after(std::int64_t round) const {
    if (plan_.told_ahead > 0) return (schedule_ ? ends_after_ == round : told_.ends()) && is_due(round);
    return ends_ && is_due(round);
  }

  /// Where servers commit for workers that come and go: up to this commit all of these have written their
  /// records. The last one of which that is true stays, with those after it.
  void set_recorded(std::int64_t round) {
    if (job_.generation() != nullptr) recorded_ = round;
  }
  bool are_announced_ahead() const { return plan_.announced_ahead; }

  /// There is a state to write: mathematics is real, or the job starts again (CheckpointPlan::has_states).
  bool keeps_files() const { return keeps_files_; }
  /// Training waits on this rank from now on. Waits for the end of an earlier write.
  void begin(std::int64_t round);
  /// What a rank writes. Empty with modelled mathematics.
  struct Part {
    SavedState state = {};
    std::vector<float> model = {};  ///< flat; of the rank that writes checkpoints
    bool model_stays = false;       ///< its file is also that of an evaluation, and is not removed
    bool is_whole = true;           ///< otherwise something that belongs to it could not be written
  };
  /// Training waits until the part is written, or in the background until it is copied. If a part cannot be
  /// written (the disk is full), the commit fails: the one before counts, and training continues.
  void write(Part part);
  /// Waits for the end of the commit that is under way.
  void finish();

 private:
  struct Written {
    std::int64_t round;
    bool removes_model;
  };
  /// The commit that is under way, on the rank that decides.
  struct Whole {
    CommitRecord record;
    Seconds by_servers;  ///< for which they held training up
    Seconds by_workers;
    std::vector<Pending> others;  ///< from each other rank of `parts_`: Stored
    bool failed = false;
  };
  /// What is open with another rank about warnings.
  struct WarningLine {
    Rank rank;
    Pending next;
  };

  bool is_writing() const { return !writing_.empty() || copies_.is_open(); }
  bool has_written();
  void end_writing();
  void write_part(Kernel transfer);
  /// Where commits keep failing, the last complete one is much older than the next.
  KeptRounds kept_rounds() const {
    if (written_.empty()) return {begun_, begun_};
    return {written_.front().round, written_.size() > 1 ? written_[1].round : written_.front().round};
  }
  void make_schedule();
  void begin_at(std::int64_t round);
  void count_from(std::int64_t round);
  void follow_from(std::int64_t round);
  void listen_from(std::int64_t round);
  void begin_rounds(std::int64_t round);
  void take_over();
  void await_told(std::int64_t round);
  void tell_planned(std::int64_t round);
  void read_state();
  void receive_model();
  void send_model();
  void find_written();
  std::vector<RankAssignment> own_and_absent() const;
  void note_times(SavedState& state, Seconds started) const;
  std::vector<RankAssignment> last_parts() const;
  void record_last();
  void collect(bool waits);
  void take(std::size_t part, const Completion& stored);
  void note_written(Seconds ended);
  void add(Roster::Role role, const protocol::Stored& part);
  void complete();
  bool list_members() const;
  void remove_old(int keep);
  template <class Goes>
  void remove_written(const Goes& goes);
  bool confirms_records() const { return plan_.confirms_records && job_.generation() != nullptr; }
  /// The decider tells the other ranks which commits are complete.
  bool tells_complete() const { return confirms_records() || (plan_.keep > 0 && plan_.are_parts_apart); }
  bool listens() const;
  std::vector<Rank> listeners() const;
  bool is_complete(std::int64_t round) const;
  bool is_evaluated(std::int64_t round) const;
  void remove(const Written& one) const;
  void save(std::int64_t round, Part& part, bool with_model);
  bool may_be_warned() const;
  void hear_drawn_warnings();
  void record_warning();
  void note_warning(Rank rank, Seconds departs);
  void note_counted();

  const Job& job_;
  const CommitPlan& plan_;
  const Roster& roster_;
  const RankAssignment& assignment_;
  const Notices& notices_;
  Context& context_;
  Journal& journal_;
  std::string directory_;
  std::optional<int> disk_;
  Bytes size_;               ///< of its part
  std::vector<Rank> parts_;  ///< the ranks without whose part a commit is not complete
  Rank decider_;
  WaitForWorker wait_;
  bool keeps_files_;
  bool has_part_;    ///< writes its state with a commit
  bool is_awaited_;  ///< and the commit is not complete without it
  bool writes_model_;
  MemoryCopies copies_;
  std::optional<CommitSchedule> schedule_;  ///< on the rank that decides
  std::int64_t heard_ = 0;
  std::int64_t stored_ = 0;   ///< round of the last part of this rank that was written
  std::int64_t begun_;        ///< round of its last commit, or where the job began
  bool is_in_epoch_ = false;  ///< of members
  bool is_counted_ = true;    ///< the last commit, unless its epoch has ended
  bool has_finished_ = false;
  Seconds started_{};             ///< its last commit
  Seconds copied_{};              ///< for the last commit, from its start on
  Seconds blocked_{};             ///< by its part of the last commit
  Pending writing_;               ///< in the background
  Pending sent_;                  ///< the last Stored
  std::vector<Written> written_;  ///< whose files exist
  std::optional<Whole> whole_;
  std::optional<CommitRecord> uncounted_;  ///< the last complete one, where records decide whether it counts
  bool failed_ = false;                    ///< this rank's part of the last commit
  bool ends_ = false;                      ///< the job is to end with a commit
  std::int64_t ends_after_ = 0;            ///< that one, as the others were told; 0: not yet
  std::size_t drawn_warnings_ = 0;         ///< of Generation::warnings whose time has come
  std::vector<WarningLine> warnings_;      ///< from the other ranks, on the one that decides
  Pending warned_;                         ///< the last Warned
  LastCommit last_;                        ///< that is known to be complete, where that cannot be seen
  ToldCommits told_;
  std::optional<std::int64_t> recorded_;  ///< see set_recorded; none: it does not matter
  std::int64_t last_round_ = 0;
  Seconds round_began_{};
  Seconds blocked_in_round_{};
};

}  // namespace tandem

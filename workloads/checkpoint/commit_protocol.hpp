// The protocol of commits, without messages, files or a clock: what a rank knows about commits, which stored
// parts the rank that decides knows of, and which of its own parts a rank removes. CommitLine and
// StoredParts send the messages, OwnParts writes and removes the files.
//
// Which commits survive. The rank that decides calls a commit complete after every rank has stored its part.
// A rank removes a commit only when it knows a later complete one. So all parts of the last complete commit
// are stored, whichever ranks die and whenever. A rank that dies before its part is stored leaves the commit
// before. If the rank that decides dies before it has called a stored commit complete, the others still have
// both. A restart looks for parts, not for messages, and continues from the later one. Messages name the
// view of their sender, and those of another view do not count. So a part that was stored for a commit of an
// earlier generation is not mistaken for one of the same round that is written again.
//
// Workers of asynchronous servers finish different rounds, and the servers' parts count pushes whose records
// only the workers have. So a complete commit counts there, and replaces the one before, only when every
// worker has confirmed that its records up to the commit are written. A worker that dies before it confirms
// leaves the commit before, with all records up to it. Commits after the last one that counts stay, because
// each of them may count next.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "workloads/checkpoint/commit_part.hpp"
#include "workloads/checkpoint/commit_schedule.hpp"
#include "workloads/checkpoint/old_commits.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// What a rank knows about commits that another rank decides.
class CommitKnowledge {
 public:
  /// `ahead`: CommitAnnouncement.
  explicit CommitKnowledge(int ahead) : ahead_(ahead) {}

  /// The job, or another view of its members, computes from `round` on. No commits follow the first `ahead`
  /// rounds. `view`: protocol::Stored.
  void begin(std::int64_t round, std::int32_t view);
  /// The job starts again from the commit after this round.
  void restart_from(std::int64_t round) { complete_ = counted_ = recorded_ = round; }

  // Messages of another view have no effect:
  void learn(const protocol::Planned& planned);
  void learn(const protocol::Complete& commit);
  /// A reply, or the push of a worker, names this commit; 0: none.
  void learn_named(std::int64_t round) { commit_round_ = std::max(commit_round_, round); }

  /// It is decided whether a commit follows this round.
  bool knows(std::int64_t round) const { return round <= known_; }
  /// The last commit that this rank knows to be decided; 0: none. If it ends the job, ends() is true.
  std::int64_t commit_round() const { return commit_round_; }
  bool ends() const { return ends_; }
  /// What the last policy knew.
  const CommitHistory& history() const { return history_; }
  void set_history(const CommitHistory& history) { history_ = history; }

  /// The last commit that counts: all its parts are stored, and all records up to it are written. 0: there
  /// is none.
  std::int64_t counted() const { return counted_; }
  /// The last commit for which this worker has not yet written its records; 0: none.
  std::int64_t unrecorded() const { return complete_ > recorded_ ? complete_ : 0; }
  void note_recorded(std::int64_t round) { recorded_ = round; }
  /// Commits that failed since the last call.
  std::vector<std::int64_t> take_failed() { return std::exchange(failed_, {}); }

  friend auto operator<=>(const CommitKnowledge&, const CommitKnowledge&) = default;

 private:
  int ahead_;
  std::int32_t view_ = 0;
  std::int64_t known_ = 0;
  std::int64_t commit_round_ = 0;
  bool ends_ = false;
  CommitHistory history_ = {};
  std::int64_t complete_ = 0;
  std::int64_t counted_ = 0;
  std::int64_t recorded_ = 0;
  std::vector<std::int64_t> failed_;
};

/// The parts of the commit in progress, on the rank that decides.
class CommitTally {
 public:
  struct Result {
    CommitRecord record = {};
    bool is_complete = false;
  };

  /// The commit after `round` begins. `view`: protocol::Stored.
  void open(std::int64_t round, std::int32_t view, std::span<const Rank> ranks, Seconds started);
  bool is_open() const { return is_open_; }
  std::int64_t round() const { return record_.round; }
  bool awaits(Rank rank) const { return awaited_.contains(rank); }
  /// A part of `size` is stored, or could not be. Returns whether it was awaited: a part of another commit
  /// or view is not.
  bool add(Rank rank, bool is_worker, const protocol::Stored& part, Bytes size);
  /// The part of this rank will not come.
  void lose(Rank rank);
  /// The commit does not count, whatever is stored.
  void fail() { failed_ = true; }
  /// Every part is stored, could not be, or will not come.
  bool has_all_answers() const { return is_open_ && awaited_.empty(); }
  /// Ends the commit: complete unless a part is missing or could not be stored. Pre: is_open().
  Result close();

  friend auto operator<=>(const CommitTally&, const CommitTally&) = default;

 private:
  bool is_open_ = false;
  bool failed_ = false;
  std::int32_t view_ = 0;
  std::set<Rank> awaited_;
  CommitRecord record_ = {};
  Seconds by_servers_{};  ///< for which servers blocked training
  Seconds by_workers_{};
};

/// The records of workers that finish different rounds, on the rank that decides: a complete commit counts
/// when every worker has written its records up to it.
class RecordTally {
 public:
  void expect(std::span<const Rank> workers);
  bool is_used() const { return !workers_.empty(); }
  void add(Rank worker, std::int64_t round);
  /// All workers have written their records up to this round.
  std::int64_t by_all() const;

 private:
  struct Worker {
    Rank rank;
    std::int64_t recorded = 0;
  };
  std::vector<Worker> workers_;
};

/// The commits of which a rank has files, in the order of rounds.
class WrittenParts {
 public:
  struct Part {
    std::int64_t round = 0;
    bool removes_model = false;  ///< the part's model is removed, too
    friend auto operator<=>(const Part&, const Part&) = default;
  };

  void add(Part part) { parts_.push_back(part); }
  std::span<const Part> parts() const { return parts_; }
  /// While commits fail, the last complete one is much older than the next. `begun`: the last commit that
  /// began.
  KeptRounds kept(std::int64_t begun) const;
  /// Takes out the parts of these rounds.
  std::vector<Part> take(std::span<const std::int64_t> rounds);
  struct Old {
    std::vector<Part> parts = {};
    std::optional<std::int64_t> complete = {};  ///< the last complete one, if one was looked for and found
  };
  /// Takes out the old ones (commits_to_remove). `is_complete`: by what this rank knows.
  Old take_old(const KeepRule& rule, const std::function<bool(std::int64_t)>& is_complete);

  friend auto operator<=>(const WrittenParts&, const WrittenParts&) = default;

 private:
  std::vector<Part> parts_;
};

}  // namespace tandem

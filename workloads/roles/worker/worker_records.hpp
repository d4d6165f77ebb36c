// When a worker writes its records: with states and commits, after exchanges, and, where servers commit for
// workers that come and go, when it learns of a commit. The next push then says so (RecordedCommits).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "workloads/checkpoint/commit_line.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class WorkerRecords {
 public:
  /// `of_slot`: the records of the worker's slot, which this one continues; null: it has its own. The
  /// arguments must outlive it.
  WorkerRecords(const Job& job, Context& context, const Journal& journal, RecordFiles* of_slot);

  /// Marks that the worker has finished these rounds, and, with earlier workers in its slot, these steps.
  RecordMark mark(std::int64_t round, std::int64_t steps) const {
    return {.round = round, .steps = steps - uncounted_steps_};
  }
  /// So many of the steps of earlier workers in its slot the servers have not counted.
  void leave_out(std::int64_t steps) { uncounted_steps_ = steps; }
  /// A reply has announced this commit.
  void hear(std::int64_t commit) { heard_commit_ = std::max(heard_commit_, commit); }

  void save(const RecordMark& mark) { files_.save(mark); }
  bool try_save(const RecordMark& mark) { return files_.try_save(mark); }
  /// After an exchange without a state.
  void note(const RecordMark& mark, CommitLine& line);
  /// After the last step.
  void note_end(const RecordMark& mark, CommitLine& line);
  /// Its machine has departed after `mark`, with `open` steps since the last exchange, of which `of_step` is
  /// that in progress. Its last push may have arrived as a whole: with or without it, nothing of this worker
  /// is missing.
  void note_interrupted(RecordMark mark, int open, int of_step);

 private:
  Context& context_;
  bool servers_wait_;  ///< a commit counts with the records of those who were there (find_restart_point)
  std::optional<RecordFiles> own_;
  RecordFiles& files_;
  std::int64_t uncounted_steps_ = 0;
  std::int64_t heard_commit_ = 0;
  std::int64_t noted_commit_ = 0;  ///< the last one up to which records were written
};

}  // namespace tandem

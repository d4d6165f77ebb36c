// When a worker writes its records: with states and commits, after exchanges, and, where servers commit for
// workers that come and go, when it learns of a commit. The next push then has that (RecordedCommits).
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
  /// `of_slot`: the records of the worker's slot, to which this worker adds its own; null: it has its own.
  /// The arguments must outlive it.
  WorkerRecords(const Job& job, Context& context, const Journal& journal, RecordFiles* of_slot);

  /// Marks that the worker has finished these rounds, and, with earlier workers in its slot, these steps.
  RecordMark mark(std::int64_t round, std::int64_t steps) const {
    return {.round = round, .steps = steps - uncounted_steps_};
  }
  /// The servers have not counted so many steps of earlier workers in its slot.
  void leave_out(std::int64_t steps) { uncounted_steps_ = steps; }
  /// A reply has announced this commit.
  void learn(std::int64_t commit) { known_commit_ = std::max(known_commit_, commit); }

  void save(const RecordMark& mark) { files_.save(mark); }
  bool try_save(const RecordMark& mark) { return files_.try_save(mark); }
  /// After an exchange without a state.
  void note(const RecordMark& mark, CommitLine& line);
  /// After the last step.
  void note_end(const RecordMark& mark, CommitLine& line);
  /// The machine of the worker has departed after `mark`, with `open` steps since the last exchange, of
  /// which `of_step` are the step in progress. Its last push may have arrived completely. In both cases the
  /// records of this worker are complete.
  void note_interrupted(RecordMark mark, int open, int of_step);

 private:
  Context& context_;
  bool servers_wait_;  ///< commits count with the records of the workers present (find_restart_point)
  std::optional<RecordFiles> own_;
  RecordFiles& files_;
  std::int64_t uncounted_steps_ = 0;
  std::int64_t known_commit_ = 0;
  std::int64_t noted_commit_ = 0;  ///< the last commit up to which records were written
};

}  // namespace tandem

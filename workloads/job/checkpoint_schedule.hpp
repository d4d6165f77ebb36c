// After which rounds a rank has something to do for checkpoints. A value; knows no files.
#pragma once

#include <cstdint>

#include "workloads/job/job.hpp"

namespace tandem {

class CheckpointSchedule {
 public:
  /// `every`: so many rounds, 0 never. `last`: the round from which it counts.
  CheckpointSchedule(std::int64_t every, std::int64_t last) : every_(every), last_(last) {}
  /// Of the job's checkpoints, from where it begins or goes on.
  explicit CheckpointSchedule(const Job& job)
      : CheckpointSchedule(job.experiment().evaluate_every, job.resume() ? job.resume()->round : 0) {}

  /// A multiple of the interval has come since the last round that it was told of.
  bool has_passed(std::int64_t round) const { return every_ > 0 && round / every_ > last_ / every_; }
  /// What is due after `round` is done.
  void begin_again(std::int64_t round) { last_ = round; }

 private:
  std::int64_t every_;
  std::int64_t last_;
};

}  // namespace tandem

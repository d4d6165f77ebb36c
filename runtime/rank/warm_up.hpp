// A training step before a job's time zero.
#pragma once

#include "policies/vocabulary/units.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// The computations of a warm-up.
struct WarmUp {
  bool trained = false;
  bool evaluated = false;
  bool operator==(const WarmUp&) const = default;
};

/// Computes, once, what the processor of this rank will compute: a batch of a worker, an evaluation of the
/// evaluator. The model is then dropped. The first pass of a process waits for the pages of libtorch's code,
/// and for kernels that are made for each shape; emulated devices do not wait for them, and no simulation
/// predicts it. Does nothing where a pass is so much work that the wait is a small part of it, without real
/// mathematics, and for a rank with a GPU. Errors: as make_learner.
WarmUp warm_up(const Job& job, Rank rank);

}  // namespace tandem

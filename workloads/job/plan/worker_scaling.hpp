// How learning rate and batch follow the number of workers of a job that starts again (recovery.mode
// restart): they are the same throughout one launch. In place, servers and exchanges follow the members.
#pragma once

#include <vector>

#include "policies/recovery/scaling.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// The scaling of jobs that recover in place.
recovery::WorkerScaling scaling_of(const Job& job);
/// Factor on the learning rate (recovery.scale_rate); 1: the job has all of its workers.
double rate_factor_of(const Job& job);
/// Workers that sum over an all-reduce may take different numbers of samples in a round. They then count the
/// samples of all (recovery.batch).
bool shares_uneven_batches(const Experiment& experiment);
/// Samples per step of each worker of this launch (recovery.batch), at least 1.
std::vector<int> batches_of(const Job& job);
/// The same of one. `worker`: its index.
int batch_of(const Job& job, int worker);

}  // namespace tandem

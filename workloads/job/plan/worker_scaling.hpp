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
/// Workers may take different numbers of samples in a round (recovery.batch over an all-reduce, or rounds
/// that some pass). The samples of all are then counted, and end the job.
bool takes_uneven_samples(const Experiment& experiment, const ExchangePlan& plan);
/// Samples per step of each worker of this launch (recovery.batch), at least 1.
std::vector<int> batches_of(const Job& job);
/// The same of one. `worker`: its index.
int batch_of(const Job& job, int worker);

}  // namespace tandem

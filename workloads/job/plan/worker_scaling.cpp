#include "workloads/job/plan/worker_scaling.hpp"

#include <algorithm>
#include <cstddef>

namespace tandem {

recovery::WorkerScaling scaling_of(const Job& job) {
  const Experiment::Recovery& rules = job.spec().experiment.recovery;
  return {.rate = rules.scale_rate,
          .batch = rules.batch,
          .batch_size = job.data().batch(),
          .workers = static_cast<int>(job.roster().first_workers().size())};
}

double rate_factor_of(const Job& job) {
  const Experiment& experiment = job.spec().experiment;
  if (!launches_again(experiment.continuation())) return 1.0;
  return recovery::rate_factor(experiment.recovery.scale_rate, job.all_workers(),
                               static_cast<int>(job.roster().workers().size()));
}

bool takes_uneven_samples(const Experiment& experiment, const ExchangePlan& plan) {
  return plan.may_pass_rounds() ||
         (launches_again(experiment.continuation()) && experiment.recovery.batch == BatchRule::global &&
          experiment.sync.over == sync::Route::all_reduce);
}

std::vector<int> batches_of(const Job& job) {
  const Experiment& experiment = job.spec().experiment;
  const std::size_t workers = job.roster().workers().size();
  if (!launches_again(experiment.continuation())) return std::vector<int>(workers, job.data().batch());
  const auto shares = recovery::batches(experiment.recovery.batch, job.data().batch(), job.all_workers(),
                                        static_cast<int>(workers));
  std::vector<int> batches;
  for (const std::int64_t share : shares)
    batches.push_back(static_cast<int>(std::max<std::int64_t>(1, share)));
  return batches;
}

int batch_of(const Job& job, int worker) {
  if (!launches_again(job.spec().experiment.continuation())) return job.data().batch();
  return batches_of(job).at(static_cast<std::size_t>(worker));
}

}  // namespace tandem

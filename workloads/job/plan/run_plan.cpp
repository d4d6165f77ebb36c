#include "workloads/job/plan/run_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "workloads/experiment/key_error.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/job/placement/roster.hpp"

namespace tandem {
namespace {

/// At least one for an algorithm that varies them.
int steps_per_round(const Experiment& experiment) {
  const ResolvedExperiment chosen(experiment);
  return std::max(1, chosen.algorithm->steps_per_round(chosen.algorithm.options()));
}

}  // namespace

std::int64_t epochs_of_run(const Experiment& experiment, int workers, std::int64_t samples) {
  double epochs = std::numeric_limits<double>::infinity();
  const Experiment::Stop& stop = experiment.stop;
  if (stop.epochs > 0.0) epochs = stop.epochs;
  if (stop.rounds > 0) {
    const double of_round =
        static_cast<double>(experiment.workload.batch) * workers * steps_per_round(experiment);
    epochs = std::min(epochs, static_cast<double>(stop.rounds) * of_round / static_cast<double>(samples));
  }
  if (std::isinf(epochs))
    throw KeyError("stop.epochs",
                   "the number of epochs, or stop.rounds, because cache policy " + experiment.data.cache +
                       " plans with the whole run",
                   "0");
  return std::max<std::int64_t>(1, std::llround(std::ceil(epochs)));
}

RunPlan::RunPlan(const Experiment& experiment, int workers, std::int64_t samples,
                 std::shared_ptr<const sampling::Sampler> sampler,
                 std::function<const sampling::Shards&()> shards)
    : seed_(experiment.seed),
      epochs_(epochs_of_run(experiment, workers, samples)),
      workers_(workers),
      workers_of_(clients_of_nodes(Roster(experiment))),
      sampler_(std::move(sampler)),
      shards_(std::move(shards)) {}

void RunPlan::list(int, std::int64_t epoch, int node, std::vector<SampleId>& ids) const {
  std::vector<std::vector<SampleId>> parts;
  std::size_t longest = 0;
  for (const std::size_t worker : workers_of_.at(static_cast<std::size_t>(node))) {
    if (worker >= static_cast<std::size_t>(workers_)) continue;
    parts.push_back(of_worker(epoch, worker));
    longest = std::max(longest, parts.back().size());
  }
  ids.clear();
  // Workers take the same steps, more or less.
  for (std::size_t i = 0; i < longest; ++i)
    for (const auto& part : parts)
      if (i < part.size()) ids.push_back(part[i]);
}

/// Ranks may be threads of one process.
std::shared_ptr<const cache::FrequencyPlan> RunPlan::by_frequency(const cache::Setting& setting) const {
  std::call_once(once_, [&] {
    by_frequency_ = std::make_shared<const cache::FrequencyPlan>(cache::plan_by_frequency(setting));
  });
  return by_frequency_;
}

std::vector<SampleId> RunPlan::of_worker(std::int64_t epoch, std::size_t worker) const {
  const auto number = static_cast<int>(worker);
  if (sampler_ == nullptr) {
    const auto& shard = shards_().at(worker);
    sampling::ShardVisits visits(shard, seed_, number);
    visits.skip(epoch * std::ssize(shard));
    std::vector<SampleId> ids;
    visits.next(static_cast<int>(shard.size()), ids);
    return ids;
  }
  const std::lock_guard lock(mutex_);
  if (last_epoch_ != epoch) {
    sampler_->list(epoch, {}, last_);
    last_epoch_ = epoch;
  }
  sampling::EpochList part;
  sampling::deal(last_, number, workers_, part);
  return std::move(part.ids);
}

}  // namespace tandem

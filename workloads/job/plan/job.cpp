#include "workloads/job/plan/job.hpp"

#include <algorithm>
#include <utility>

#include "workloads/job/placement/needed_machines.hpp"
#include "workloads/job/placement/stable_roles.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/job/plan/departing_nodes.hpp"
#include "workloads/job/plan/fates_of_job.hpp"
#include "workloads/job/plan/recovery_plan.hpp"
#include "workloads/job/plan/slot_machines.hpp"
#include "workloads/job/plan/worker_scaling.hpp"

namespace tandem {
namespace {

/// Those that decide when the job ends: the coordinator; without one the first worker, where workers run at
/// different speeds, or all.
std::vector<Rank> accuracy_deciders(const JobSpec& spec, const Roster& roster, const ExchangePlan& exchange) {
  if (spec.experiment.stop.accuracy == 0.0) return {};
  if (const auto coordinator = roster.coordinator()) return {*coordinator};
  if (exchange.is_timing_driven()) return {roster.first_worker()};
  return {roster.workers().begin(), roster.workers().end()};
}

std::optional<Rank> evaluator_of(const JobSpec& spec, const Roster& roster) {
  const bool first_worker_does =
      spec.experiment.evaluate_every > 0 && spec.experiment.placement.evaluator == first_worker_evaluates;
  return first_worker_does ? roster.first_worker() : roster.evaluator();
}

CheckpointPlan plan_checkpoints(const JobSpec& spec, const ResolvedExperiment& chosen, const Roster& roster,
                                const ExchangePlan& exchange) {
  return {.directory = spec.directory,
          .every = spec.experiment.evaluate_every,
          .has_model = spec.real_math(),
          .has_states = spec.real_math() || launches_again(spec.experiment.continuation()) ||
                        !needed_machines(spec.experiment, spec.platform).empty(),
          .writer = exchange.servers_hold_model() ? roster.servers().front() : roster.first_worker(),
          .evaluator = evaluator_of(spec, roster),
          .stop_accuracy = spec.experiment.stop.accuracy,
          .accuracy_deciders = accuracy_deciders(spec, roster, exchange),
          .commits = plan_commits(spec.experiment, chosen, roster, exchange)};
}

}  // namespace

Job::Parts::Parts(JobSpec given)
    : spec(std::move(given)),
      chosen(spec.experiment),
      roster(spec.experiment),
      data(spec.experiment, chosen, static_cast<int>(roster.first_workers().size()), spec.data_memory),
      replica(plan_replica(spec.experiment, data.info(), data.needs_losses())),
      exchange(spec.experiment, chosen, replica.description, data.info().train_samples,
               static_cast<int>(roster.workers().size()), static_cast<int>(roster.servers().size())),
      devices(spec, roster, replica, exchange),
      checkpoints(plan_checkpoints(spec, chosen, roster, exchange)),
      stop(spec.experiment.stop, data.info().train_samples,
           data.has_lists() && !roster.steward() && !takes_uneven_samples(spec.experiment, exchange)) {}

Job::Job(JobSpec spec) : parts_(std::make_unique<Parts>(std::move(spec))) {
  // The platform's hosts may have lifetimes that are none.
  if (!this->spec().experiment.transience.may_depart()) return;
  fates_of(*this);
  check_known_lifetimes(*this);
  check_known_prices(*this);
  check_stable_roles(this->spec().experiment, this->spec().platform, roster());
  check_storage_hosts(*this);
}

Job::Job(JobSpec spec, std::optional<AllReducePlan> all_reduce) : Job(std::move(spec)) {
  if (!all_reduce) return;
  check_plan(*all_reduce, roster().workers().size(), exchange().summed_elements().size());
  parts_->exchange.set_all_reduce(std::move(*all_reduce));
}

Job::Job(Experiment experiment, platforms::Description platform, std::string directory,
         const platforms::Network& network, Locate locate)
    : Job(JobSpec{std::move(experiment), std::move(platform), std::move(directory), "", std::move(locate)}) {
  if (exchange().route() != sync::Route::all_reduce) return;
  const auto setting = all_reduce_setting(*this, roster().workers(), exchange().summed_elements());
  parts_->exchange.set_all_reduce(plan_all_reduce(setting, network));
}

void Job::resume_from(ResumePoint point) {
  parts_->replica.initial = model_path(point);
  parts_->checkpoints.first_round = point.round;
  parts_->data.continue_after(point.deals);
  parts_->resume = std::move(point);
  schedule_for_all_workers();
}

void Job::set_generation(Generation generation) {
  parts_->generation = std::move(generation);
  schedule_for_all_workers();
}

void Job::schedule_for_all_workers() {
  parts_->exchange.schedule_for(spec().experiment, data().info().train_samples, all_workers());
}

void Job::begin_anew() {
  TANDEM_CHECK(resume() == nullptr || resume()->deals.empty(), "deals of samples to other workers",
               resume()->deals.size());
  parts_->replica.initial = spec().experiment.workload.initial;
  parts_->checkpoints.first_round = 0;
  parts_->resume.reset();
}

ReplicaPlan Job::replica_plan_of_arrival() const {
  ReplicaPlan plan = replica_plan();
  plan.initial = spec().experiment.workload.initial;
  return plan;
}

int Job::all_workers() const {
  const Generation* const launch = generation();
  if (launch != nullptr && launch->origin && launch->origin->all_workers > 0)
    return launch->origin->all_workers;
  if (resume() != nullptr && resume()->all_workers > 0) return resume()->all_workers;
  const bool has_all = launch == nullptr || launch->hosts.empty();
  return static_cast<int>(has_all ? roster().workers().size() : launch->hosts.size());
}

void Job::record_losses() {
  TANDEM_CHECK(real_math(), "losses of modelled mathematics");
  parts_->replica.learner.sample_losses = true;
  parts_->records_losses = true;
}

bool Job::loads_ahead(Rank worker) const {
  // Batches from storage are as large as they were requested.
  const bool size_stays = data().from_storage() || !exchange().varies_batch();
  // With a sampler that needs losses, the next batch may depend on this step's.
  const bool is_known = !data().needs_losses();
  return devices().host_of(worker).gpu.has_value() && data().prefetch() > 0 && size_stays && is_known;
}

AllReduceSetting all_reduce_setting(const Job& job, std::span<const Rank> workers,
                                    std::vector<std::int64_t> bucket_elements) {
  const auto& sync = job.spec().experiment.sync;
  AllReduceSetting setting{.collective = sync.collective,
                           .by_rank = sync.order == WorkerOrder::rank,
                           .hosts = {},
                           .bucket_elements = std::move(bucket_elements),
                           .reduce = {},
                           .rings = sync.rings,
                           .unlike = {}};
  struct Costs {
    std::vector<CostModel> models;     ///< that differ
    std::vector<std::size_t> of = {};  ///< by worker
  };
  const auto costs = std::make_shared<Costs>();
  std::vector<Rank> unlike;
  for (const Rank rank : workers) {
    setting.hosts.push_back(job.roster().host_of(rank));
    const auto like =
        std::ranges::find_if(unlike, [&](Rank known) { return job.devices().are_alike(known, rank); });
    costs->of.push_back(static_cast<std::size_t>(like - unlike.begin()));
    if (like != unlike.end()) continue;
    unlike.push_back(rank);
    costs->models.push_back(job.devices().cost_model(rank));
    setting.unlike.push_back(static_cast<int>(costs->of.size()) - 1);
  }
  setting.reduce = [costs](int worker, Bytes size) {
    return costs->models[costs->of[static_cast<std::size_t>(worker)]].price(
        {.kind = Work::Kind::reduce, .bytes = size});
  };
  return setting;
}

}  // namespace tandem

#include "workloads/experiment/resolved_experiment.hpp"

#include <variant>

namespace tandem {
namespace {

/// Enough workers for every option of an algorithm.
constexpr int many_workers = 1'000'000;

std::optional<Chosen<checkpointing::Factory>> checkpointing_of(const Experiment::Checkpoint& checkpoint) {
  if (checkpoint.policy.empty()) return std::nullopt;
  return Chosen<checkpointing::Factory>(checkpointing::catalog(), checkpoint.policy, checkpoint.options);
}

DatasetSetting dataset_of(const Experiment& experiment) {
  const auto& workload = experiment.workload;
  return {.name = workload.dataset,
          .directory = workload.dataset_directory,
          .train_samples = workload.train_samples,
          .test_samples = workload.test_samples,
          .seed = experiment.seed,
          .image_size = workload.image_size,
          .options = Options::resolve(workload.dataset, dataset_catalog().find(workload.dataset).options,
                                      workload.dataset_options),
          .loads_training = experiment.data.source == DataSource::memory,
          .cold = experiment.reads_cold()};
}

}  // namespace

ResolvedExperiment::ResolvedExperiment(const Experiment& experiment)
    : algorithm(sync::catalog(), experiment.sync.algorithm, experiment.sync.options),
      compression(compression::catalog(), experiment.sync.compression, experiment.sync.compression_options),
      sharding(sharding::catalog(), experiment.sync.sharding, experiment.sync.sharding_options),
      cache(cache::catalog(), experiment.data.cache, experiment.data.cache_options),
      sampler(sampling::samplers(), experiment.data.sampling, experiment.data.sampling_options),
      split(sampling::splits(), experiment.data.split, experiment.data.split_options),
      lifetime(lifetimes::catalog(), experiment.transience.lifetime, experiment.transience.options),
      recovery(recovery::catalog(), experiment.recovery.policy, experiment.recovery.options),
      provisioning(provisioning::catalog(), experiment.recovery.provisioning,
                   experiment.recovery.provisioning_options),
      checkpointing(checkpointing_of(experiment.checkpoint)),
      augmentation(Augmentation::from(
          Options::resolve("data.augment", augmentation_options(), experiment.data.augment))),
      dataset(dataset_of(experiment)),
      batch_(experiment.workload.batch),
      route_(experiment.sync.over),
      seed_(experiment.seed),
      sums_gradients_(experiment.optimizer.gradient == BatchGradient::sum) {}

sync::Setting ResolvedExperiment::sync_setting(int workers, std::optional<std::int64_t> train_samples) const {
  return {.workers = workers,
          .batch = batch_,
          .route = route_,
          .options = algorithm.options(),
          .seed = seed_,
          .sums_gradients = sums_gradients_,
          .shard = [split = split, dataset = dataset, train_samples, workers](int worker) {
            const sampling::Setting setting{
                .samples = train_samples ? *train_samples : describe_modelled_dataset(dataset).train_samples,
                .labels = {},
                .workers = workers,
                .seed = 0,
                .options = split.options()};
            return split->sizes(setting).at(static_cast<std::size_t>(worker));
          }};
}

bool ResolvedExperiment::has_models_of_their_own() const {
  return algorithm->payload == sync::Payload::model ||
         std::holds_alternative<sync::ElasticTie>(algorithm->update_rule(sync_setting(many_workers)));
}

}  // namespace tandem

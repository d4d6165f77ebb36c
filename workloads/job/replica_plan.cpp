#include "workloads/job/replica_plan.hpp"

#include <utility>

#include "policies/collectives/schedule.hpp"

namespace tandem {
namespace {

/// A model given by its sizes: equal buckets.
ModelDescription synthetic_model(const Experiment::Workload& workload) {
  ModelDescription model{.name = "synthetic", .tensors = {}, .buckets = {}};
  const int count = workload.synthetic_buckets;
  for (int bucket = 0; bucket < count; ++bucket) {
    const auto part = collectives::part_of(workload.synthetic_parameters, count, bucket);
    model.buckets.push_back({.offset = part.begin,
                             .parameters = part.size(),
                             .statistics = 0,
                             .forward = workload.synthetic_forward / count,
                             .backward = workload.synthetic_backward / count});
  }
  return model;
}

LearnerSetting learner_setting(const Experiment& experiment, const DatasetInfo& dataset) {
  const auto& workload = experiment.workload;
  return {.model = workload.model,
          .dataset = dataset,
          .image_size = workload.image_size,
          .bucket_bytes = workload.bucket_bytes,
          .seed = experiment.seed,
          .precision = workload.precision,
          .deterministic = workload.deterministic};
}

}  // namespace

ReplicaPlan plan_replica(const Experiment& experiment, const DatasetInfo& dataset, bool sample_losses) {
  const auto& workload = experiment.workload;
  LearnerSetting learner = learner_setting(experiment, dataset);
  learner.sample_losses = sample_losses;
  ModelDescription model =
      workload.model == "synthetic" ? synthetic_model(workload) : describe_model(learner);
  for (auto& bucket : model.buckets) bucket.shares_statistics = experiment.sync.average_statistics;
  return {.description = std::make_shared<const ModelDescription>(std::move(model)),
          .learner = std::move(learner),
          .real_math = workload.math == Experiment::Workload::Math::real,
          .initial = workload.initial,
          .non_finite = workload.non_finite};
}

}  // namespace tandem

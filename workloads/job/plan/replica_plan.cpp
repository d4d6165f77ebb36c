#include "workloads/job/plan/replica_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "policies/collectives/schedule.hpp"
#include "workloads/experiment/measured_buckets.hpp"
#include "workloads/experiment/tensor_list.hpp"
#include "workloads/model/ddp_buckets.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {
namespace {

/// Each tensor may begin a bucket, as each layer of another model may.
ModelDescription model_of_tensors(const Experiment::Workload& workload) {
  const std::string place = "key 'workload.synthetic_tensors'";
  const auto listed = parse_tensors(workload.synthetic_tensors, place);
  const auto all = static_cast<double>(elements_of(listed, place));
  const bool have_work = work_of(listed).has_value();
  ModelDescription model{.name = "synthetic", .tensors = {}, .buckets = {}};
  std::vector<SegmentShare> shares;
  for (const ListedTensor& tensor : listed) {
    const std::size_t index = shares.size();
    const std::int64_t elements = tensor.size.count() / 4;
    const double share = static_cast<double>(elements) / all;
    const auto work = have_work ? tensor.work.value_or(ListedTensor::Work())
                                : ListedTensor::Work{workload.synthetic_forward * share,
                                                     workload.synthetic_backward * share};
    model.tensors.push_back({.name = tensor.name.empty() ? fmt::format("tensor-{}", index + 1) : tensor.name,
                             .shape = {elements}});
    shares.push_back({index, index + 1, work.forward, work.backward});
  }
  cut_into_buckets(model, shares, {workload.bucket_bytes, workload.first_bucket_bytes});
  return model;
}

using Shapes = std::vector<std::vector<std::int64_t>>;

/// As measured: their work is in the times.
ModelDescription model_of_buckets(const Experiment::Workload& workload) {
  ModelDescription model{.name = "synthetic", .tensors = {}, .buckets = {}};
  const auto buckets = parse_buckets(workload.measured_buckets, "key 'workload.measured_buckets'");
  const bool has_shapes =
      std::ranges::any_of(buckets, [](const ListedBucket& bucket) { return !bucket.tensors.empty(); });
  for (const ListedBucket& bucket : buckets) {
    const std::int64_t parameters = bucket.size.count() / 4;
    std::int64_t offset = model.elements();
    model.buckets.push_back(
        {.offset = offset, .parameters = parameters, .statistics = 0, .forward = {}, .backward = {}});
    if (!has_shapes) continue;
    // A bucket without shapes is one vector.
    for (const auto& shape : bucket.tensors.empty() ? Shapes{{parameters}} : bucket.tensors) {
      auto& tensor = model.tensors.emplace_back();
      tensor.name = fmt::format("tensor-{}", model.tensors.size());
      tensor.shape = shape;
      tensor.offset = offset;
      offset += tensor.elements();
    }
  }
  return model;
}

/// Buckets of these sizes, in whole elements; the last one in the backward pass has the rest.
ModelDescription model_of_bucket_sizes(const Experiment::Workload& workload) {
  ModelDescription model{.name = "synthetic", .tensors = {}, .buckets = {}};
  const std::int64_t all = workload.synthetic_parameters;
  for (std::int64_t offset = 0; offset < all;) {
    const bool is_first = offset == 0 && workload.first_bucket_bytes > Bytes(0);
    const Bytes least = is_first ? workload.first_bucket_bytes : workload.bucket_bytes;
    const std::int64_t rest = all - offset;
    const std::int64_t own = least > Bytes(0) ? std::min(rest, (least.count() - 1) / 4 + 1) : rest;
    const double share = static_cast<double>(own) / static_cast<double>(all);
    model.buckets.push_back({.offset = offset,
                             .parameters = own,
                             .statistics = 0,
                             .forward = workload.synthetic_forward * share,
                             .backward = workload.synthetic_backward * share});
    offset += own;
  }
  return model;
}

/// A model given by its sizes: by those of its tensors or buckets, or equal buckets.
ModelDescription synthetic_model(const Experiment::Workload& workload) {
  if (!workload.synthetic_tensors.empty()) return model_of_tensors(workload);
  if (!workload.measured_buckets.empty()) return model_of_buckets(workload);
  if (workload.synthetic_buckets == 0) return model_of_bucket_sizes(workload);
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
          .first_bucket_bytes = workload.first_bucket_bytes,
          .seed = experiment.seed,
          .precision = workload.precision,
          .deterministic = workload.deterministic,
          .sums_gradients = experiment.optimizer.gradient == BatchGradient::sum,
          .graphs = experiment.run.cuda_graphs};
}

ModelDescription model_of_learner(LearnerSetting learner, const Experiment::Workload& workload) {
  if (workload.bucket_rule == BucketRule::layers) return describe_model(learner);
  const BucketSizes wanted = learner.bucket_sizes();
  learner.bucket_bytes = learner.first_bucket_bytes = Bytes(1);  // one for each place where backward can stop
  return in_ddp_buckets(describe_model(learner), wanted);
}

}  // namespace

ReplicaPlan plan_replica(const Experiment& experiment, const DatasetInfo& dataset, bool sample_losses) {
  const auto& workload = experiment.workload;
  LearnerSetting learner = learner_setting(experiment, dataset);
  learner.sample_losses = sample_losses;
  ModelDescription model =
      workload.model == "synthetic" ? synthetic_model(workload) : model_of_learner(learner, workload);
  for (auto& bucket : model.buckets) bucket.shares_statistics = experiment.sync.average_statistics;
  if (workload.model == "synthetic") model.buffers = workload.measured_buffers;
  if (!experiment.sync.average_statistics) model.buffers = Bytes(0);
  return {.description = std::make_shared<const ModelDescription>(std::move(model)),
          .learner = std::move(learner),
          .real_math = workload.math == Experiment::Workload::Math::real,
          .initial = workload.initial,
          .non_finite = workload.non_finite,
          .rate_ramp = experiment.recovery.ramp};
}

}  // namespace tandem

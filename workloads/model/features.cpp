#include "workloads/model/features.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/data/dataset.hpp"

namespace tandem {
namespace {

constexpr std::int64_t value_bytes = 4;
constexpr std::int64_t momentum_accesses = 5;

bool is_matrix(LayerKind kind) {
  return kind == LayerKind::convolution || kind == LayerKind::grouped_convolution ||
         kind == LayerKind::linear;
}

/// Forward and backward.
std::int64_t passes_of(const LayerWork& work) {
  if (is_matrix(work.kind)) return 1 + std::llround(work.backward / work.forward);
  return work.kind == LayerKind::normalisation ? 4 : 2;
}

WorkOfLayer layer_of(const LayerWork& work) {
  const std::int64_t passes = passes_of(work);
  return {.flops = work.forward + work.backward,
          .bytes = Bytes(passes * value_bytes * (work.inputs + work.outputs)),
          .parameter_bytes = Bytes(passes * value_bytes * work.parameters),
          .launches = is_matrix(work.kind) ? passes : 2};
}

void add(KindOfWork& sum, const WorkOfLayer& layer) {
  ++sum.layers;
  sum.flops += layer.flops;
  sum.bytes += layer.bytes;
  sum.parameter_bytes += layer.parameter_bytes;
  sum.launches += layer.launches;
}

}  // namespace

DatasetInfo usual_images(const std::string& model) {
  return describe_modelled_dataset({.name = is_for_photographs(model) ? "synthetic-imagenet" : "cifar-10",
                                    .directory = {},
                                    .train_samples = 0,
                                    .test_samples = 0,
                                    .seed = 1});
}

const char* to_text(LayerKind kind) {
  switch (kind) {
    case LayerKind::convolution:
      return "convolution";
    case LayerKind::grouped_convolution:
      return "grouped convolution";
    case LayerKind::linear:
      return "linear";
    case LayerKind::normalisation:
      return "normalisation";
    case LayerKind::activation:
      return "activation";
    case LayerKind::pooling:
      return "pooling";
    case LayerKind::sum:
      return "sum";
    case LayerKind::copy:
      break;
  }
  return "copy";
}

ModelFeatures features_of(const ModelPlan& plan) {
  ModelFeatures features;
  for (const LayerWork& work : plan.work) {
    auto kind = std::ranges::find(features.kinds, work.kind, &KindOfWork::kind);
    if (kind == features.kinds.end())
      kind = features.kinds.insert(features.kinds.end(), KindOfWork{.kind = work.kind});
    features.layers.push_back(layer_of(work));
    add(*kind, features.layers.back());
  }
  std::ranges::sort(features.kinds, {}, &KindOfWork::kind);
  for (const KindOfWork& kind : features.kinds) {
    if (is_matrix(kind.kind)) {
      features.matrix_flops += kind.flops;
      features.matrix_bytes += kind.bytes;
    } else {
      features.elementwise_bytes += kind.bytes;
    }
    features.launches += kind.launches;
  }
  features.parameters = plan.description.parameters();
  features.optimizer_bytes = Bytes(momentum_accesses * value_bytes * features.parameters);
  features.tensors = std::ranges::count(plan.description.tensors, false, &TensorDescription::statistic);
  features.checkpoint_bytes = plan.description.bytes();
  return features;
}

std::vector<estimates::LayerDemand> layers_of(const ModelFeatures& model, double samples) {
  std::vector<estimates::LayerDemand> layers;
  for (const WorkOfLayer& layer : model.layers)
    layers.push_back({.flops = samples * layer.flops.count(),
                      .bytes = samples * static_cast<double>(layer.bytes.count()) +
                               static_cast<double>(layer.parameter_bytes.count()),
                      .launches = static_cast<double>(layer.launches)});
  layers.push_back({.bytes = static_cast<double>(model.optimizer_bytes.count())});
  return layers;
}

std::optional<double> feature_named(const std::string& name, const ModelFeatures& model, double samples) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  if (name == "matrix_flops") return samples * model.matrix_flops.count();
  if (name == "matrix_bytes") return samples * number(model.matrix_bytes.count());
  if (name == "elementwise_bytes") return samples * number(model.elementwise_bytes.count());
  if (name == "launches") return number(model.launches);
  if (name == "optimizer_bytes") return number(model.optimizer_bytes.count());
  if (name == "parameters") return number(model.parameters);
  if (name == "tensors") return number(model.tensors);
  if (name == "checkpoint_bytes") return number(model.checkpoint_bytes.count());
  return std::nullopt;
}

}  // namespace tandem

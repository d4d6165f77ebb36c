#include "workloads/model/ddp_buckets.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

/// "layer1.0.conv1.weight": "layer1.0.conv1".
std::string layer_of(const TensorDescription& tensor) {
  return tensor.name.substr(0, tensor.name.rfind('.'));
}

/// Trained tensors, as a backward pass completes their gradients.
std::vector<const TensorDescription*> in_order_of_readiness(const ModelDescription& model) {
  std::vector<const TensorDescription*> order;
  auto end = model.tensors.end();
  while (end != model.tensors.begin()) {
    auto begin = std::prev(end);
    while (begin != model.tensors.begin() && layer_of(*std::prev(begin)) == layer_of(*begin)) --begin;
    const bool is_linear = begin->shape.size() == 2;
    const auto first = static_cast<std::ptrdiff_t>(order.size());
    for (auto tensor = begin; tensor != end; ++tensor)
      if (!tensor->statistic) order.push_back(&*tensor);
    if (is_linear) std::reverse(order.begin() + first, order.end());
    end = begin;
  }
  return order;
}

const BucketDescription& bucket_of(const ModelDescription& model, const TensorDescription& tensor) {
  const auto found = std::ranges::find_if(model.buckets, [&](const BucketDescription& bucket) {
    return tensor.offset >= bucket.offset && tensor.offset < bucket.offset + bucket.elements();
  });
  TANDEM_CHECK(found != model.buckets.end(), tensor.name, tensor.offset);
  return *found;
}

}  // namespace

ModelDescription in_ddp_buckets(const ModelDescription& layers, const BucketSizes& wanted) {
  ModelDescription model{
      .name = layers.name, .tensors = {}, .buckets = {}, .activations = layers.activations};
  bool is_open = false;
  for (const TensorDescription* tensor : in_order_of_readiness(layers)) {
    if (!is_open) model.buckets.push_back({.offset = model.elements(), .forward = {}, .backward = {}});
    BucketDescription& bucket = model.buckets.back();
    const BucketDescription& before = bucket_of(layers, *tensor);
    const double share = static_cast<double>(tensor->elements()) /
                         static_cast<double>(std::max<std::int64_t>(1, before.parameters));
    model.tensors.push_back(*tensor);
    model.tensors.back().offset = bucket.offset + bucket.parameters;
    bucket.parameters += tensor->elements();
    bucket.forward += before.forward * share;
    bucket.backward += before.backward * share;
    const bool is_first = model.buckets.size() == 1 && wanted.first > Bytes(0);
    const Bytes least = is_first ? wanted.first : wanted.others;
    is_open = least == Bytes(0) || bucket.bytes() < least;
  }
  std::ranges::reverse(model.tensors);
  model.buffers = Bytes(layers.bytes().count() - 4 * layers.parameters());
  // Layers without parameters belong to no bucket, but their work is part of the step.
  const Flops forward = layers.forward() - model.forward(), backward = layers.backward() - model.backward();
  model.buckets.back().forward += forward;
  model.buckets.back().backward += backward;
  return model;
}

}  // namespace tandem

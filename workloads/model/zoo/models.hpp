// The definitions behind model_catalog(), one file per family. Tensors have torchvision's names if it
// has the model.
#pragma once

#include <utility>
#include <vector>

#include "policies/vocabulary/options.hpp"
#include "workloads/model/definition.hpp"

namespace tandem::models {

using Segments = std::vector<Segment>;
using Layers = std::vector<Layer>;

Segments mlp(const DatasetInfo& images);
Segments lenet(const DatasetInfo& images);
Segments alexnet(const DatasetInfo& images);
Segments vgg11(const DatasetInfo& images);
Segments vgg11_bn(const DatasetInfo& images);
Segments vgg13(const DatasetInfo& images);
Segments vgg16(const DatasetInfo& images);
Segments vgg19(const DatasetInfo& images);
Segments resnet18(const DatasetInfo& images);
Segments resnet32(const DatasetInfo& images);
Segments resnet34(const DatasetInfo& images);
Segments resnet50(const DatasetInfo& images);
Segments resnet50_v2(const DatasetInfo& images);
Segments resnet101(const DatasetInfo& images);
Segments resnet110(const DatasetInfo& images);
Segments resnet152(const DatasetInfo& images);
Segments mobilenet_v1(const DatasetInfo& images);
Segments mobilenet_v2(const DatasetInfo& images);
Segments inception_v3(const DatasetInfo& images);
// Families. Errors: ConfigError for options that give no network.
Segments resnet_cifar(const DatasetInfo& images, const Options& options);
Segments shake_shake(const DatasetInfo& images, const Options& options);

/// Appends the layers to the others.
inline void append(Layers& layers, Layers more) {
  for (auto& layer : more) layers.push_back(std::move(layer));
}

}  // namespace tandem::models

#include "workloads/model/definition.hpp"

#include <algorithm>

#include "workloads/model/catalog.hpp"
#include "workloads/model/zoo/models.hpp"

namespace tandem {
namespace {

struct Row {
  const char* name;
  const char* summary;
  const char* paper;
  std::vector<Segment> (*define)(const DatasetInfo&);
  bool for_photographs = false;
};

constexpr Row rows[] = {
    {"mlp", "perceptron with two hidden layers of 200", "McMahan et al. (2017), 2NN", models::mlp},
    {"lenet", "LeNet with 20 and 50 filters and 500 hidden units, for images of 16x16 and larger",
     "LeCun et al. (1998)", models::lenet},
    {"alexnet", "AlexNet with one tower, for images of 63x63 and larger", "Krizhevsky (2014)",
     models::alexnet, true},
    {"vgg11", "VGG with 8 convolutions, configuration A, for images of 32x32 and larger",
     "Simonyan and Zisserman (2015)", models::vgg11, true},
    {"vgg11-bn", "VGG-11 with batch normalisation", "Simonyan and Zisserman (2015)", models::vgg11_bn, true},
    {"vgg13", "VGG with 10 convolutions, configuration B", "Simonyan and Zisserman (2015)", models::vgg13,
     true},
    {"vgg16", "VGG with 13 convolutions, configuration D", "Simonyan and Zisserman (2015)", models::vgg16,
     true},
    {"vgg19", "VGG with 16 convolutions, configuration E", "Simonyan and Zisserman (2015)", models::vgg19,
     true},
    {"resnet18",
     "ResNet-18; like the deeper ones it begins with 7x7 and max pooling, but below 64x64 with 3x3 and none",
     "He et al. (2016)", models::resnet18, true},
    {"resnet32", "ResNet-32 for CIFAR-10: 16 to 64 channels, shortcuts without parameters",
     "He et al. (2016), section 4.2", models::resnet32},
    {"resnet34", "ResNet-34", "He et al. (2016)", models::resnet34, true},
    {"resnet50", "ResNet-50, strides in the 3x3 convolutions", "He et al. (2016)", models::resnet50, true},
    {"resnet50-v2", "ResNet-50 with normalisation and ReLU before each convolution",
     "He et al. (2016), Identity mappings", models::resnet50_v2, true},
    {"resnet101", "ResNet-101", "He et al. (2016)", models::resnet101, true},
    {"resnet110", "ResNet-110 for CIFAR-10, like ResNet-32", "He et al. (2016), section 4.2",
     models::resnet110},
    {"resnet152", "ResNet-152", "He et al. (2016)", models::resnet152, true},
    {"mobilenet-v1", "MobileNet of full width: depthwise and 1x1 convolutions", "Howard et al. (2017)",
     models::mobilenet_v1, true},
    {"mobilenet-v2", "MobileNetV2 of full width: inverted bottlenecks", "Sandler et al. (2018)",
     models::mobilenet_v2, true},
    {"inception-v3", "Inception v3 without auxiliary classifier, for images of 75x75 and larger",
     "Szegedy et al. (2016)", models::inception_v3, true},
};

}  // namespace

const Catalog<int>& model_catalog() {
  static const Catalog<int> catalog = [] {
    std::vector<CatalogEntry<int>> entries;
    for (const Row& row : rows)
      entries.push_back({row.name, row.summary, row.paper, {}, static_cast<int>(&row - rows)});
    return Catalog<int>("model", std::move(entries));
  }();
  return catalog;
}

bool is_for_photographs(const std::string& model) {
  const auto names = model_catalog().names();
  return std::ranges::find(names, model) != names.end() &&
         rows[model_catalog().find(model).make].for_photographs;
}

std::vector<Segment> define_model(const std::string& model, const DatasetInfo& images) {
  return rows[model_catalog().find(model).make].define(images);
}

}  // namespace tandem

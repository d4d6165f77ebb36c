#include "workloads/model/definition.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "policies/vocabulary/text_parts.hpp"
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

/// Models that differ in options.
struct Family {
  std::string name;
  std::string summary;
  std::string paper;
  std::vector<OptionSpec> options;
  std::vector<Segment> (*define)(const DatasetInfo&, const Options&);
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"resnet-cifar",
       "residual networks for small images with three stages (resnet-cifar:blocks=2-3-3:filters=32)",
       "Vaswani et al. (2018), Tensor2Tensor; blocks: He et al. (2016), Identity mappings",
       {{"blocks", "of each stage", std::string("5-5-5")},
        {"filters", "of the first stage, an even number; the later ones have twice and four times as many",
         std::int64_t{32}, 2, 4096}},
       models::resnet_cifar},
      {"shake-shake",
       "three stages whose blocks mix two branches at random (shake-shake:hidden=96:depth=26)",
       "Gastaldi (2017), Shake-Shake regularization; as in Tensor2Tensor, Vaswani et al. (2018)",
       {{"hidden", "filters of the first stage, a multiple of 16", std::int64_t{32}, 16, 4096},
        {"depth", "layers: 2 and six for each block of a stage", std::int64_t{26}, 8, 1202}},
       models::shake_shake},
  };
  return all;
}

/// The options behind the name. Errors: ConfigError for a text that gives none.
std::map<std::string, OptionValue> options_in(const std::string& model) {
  std::map<std::string, OptionValue> options;
  for (std::size_t colon = model.find(':'); colon != std::string::npos;) {
    const std::size_t next = model.find(':', colon + 1);
    const std::string text = model.substr(colon + 1, next == std::string::npos ? next : next - colon - 1);
    colon = next;
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || options.contains(text.substr(0, equals)))
      throw ConfigError("model '" + model +
                        "': expected a name, and behind each colon another OPTION=VALUE, found '" + text +
                        "'");
    const std::string value = text.substr(equals + 1);
    const auto whole = parse_number<std::int64_t>(value);
    options[text.substr(0, equals)] = whole ? OptionValue(*whole) : OptionValue(value);
  }
  return options;
}

}  // namespace

const Catalog<int>& model_catalog() {
  static const Catalog<int> catalog = [] {
    std::vector<CatalogEntry<int>> entries;
    for (const Row& row : rows)
      entries.push_back({row.name, row.summary, row.paper, {}, static_cast<int>(&row - rows)});
    for (const Family& family : families())
      entries.push_back(
          {family.name, family.summary, family.paper, family.options, static_cast<int>(entries.size())});
    return Catalog<int>("model", std::move(entries));
  }();
  return catalog;
}

bool is_for_photographs(const std::string& model) {
  const auto names = model_catalog().names();
  if (std::ranges::find(names, model) == names.end()) return false;
  // Families of networks come after the rows; they are for small images.
  const auto index = static_cast<std::size_t>(model_catalog().find(model).make);
  return index < std::size(rows) && rows[index].for_photographs;
}

std::vector<Segment> define_model(const std::string& model, const DatasetInfo& images) {
  const auto& entry = model_catalog().find(model_entry_name(model));
  const Options options = Options::resolve("model '" + entry.name + "'", entry.options, options_in(model));
  const auto index = static_cast<std::size_t>(entry.make);
  if (index < std::size(rows)) return rows[index].define(images);
  return families()[index - std::size(rows)].define(images, options);
}

}  // namespace tandem

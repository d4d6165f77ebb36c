#include "cli/commands/show_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/shared/output.hpp"
#include "workloads/data/dataset.hpp"
#include "workloads/model/catalog.hpp"
#include "workloads/model/features.hpp"
#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

DatasetInfo images_for(const std::string& model, const std::string& dataset) {
  if (dataset.empty()) return usual_images(model);
  return describe_modelled_dataset(
      {.name = dataset, .directory = {}, .train_samples = 0, .test_samples = 0, .seed = 1});
}

std::string flops_text(Flops flops) { return three_digits(flops.count() * 1e-6) + " M"; }
std::string bytes_text(Bytes bytes) { return with_unit(static_cast<double>(bytes.count()), Unit::bytes); }

std::string text_of(const std::string& model, const DatasetInfo& images, const ModelFeatures& features) {
  std::string text = fmt::format(
      "{}, for {} images of {} x {} x {} and {} classes: {} parameters in {} tensors, checkpoint {}\n", model,
      images.name, images.channels, images.height, images.width, images.classes,
      with_separators(features.parameters), with_separators(features.tensors),
      bytes_text(features.checkpoint_bytes));
  text += fmt::format("  {:<20} {:>6} {:>12} {:>10} {:>12} {:>9}\n", "kind of layer", "layers", "flops",
                      "bytes", "of weights", "launches");
  for (const KindOfWork& kind : features.kinds)
    text += fmt::format("  {:<20} {:>6} {:>12} {:>10} {:>12} {:>9}\n", to_text(kind.kind), kind.layers,
                        flops_text(kind.flops), bytes_text(kind.bytes), bytes_text(kind.parameter_bytes),
                        kind.launches);
  return text +
         fmt::format(
             "Forward and backward. Flops and bytes are those of one sample; bytes of weights, and launches, "
             "of\na step. In all: {} flops and {} in products, {} in other layers, {} launches, optimiser "
             "{}.\n",
             flops_text(features.matrix_flops), bytes_text(features.matrix_bytes),
             bytes_text(features.elementwise_bytes), features.launches, bytes_text(features.optimizer_bytes));
}

nlohmann::json document_of(const std::string& model, const DatasetInfo& images,
                           const ModelFeatures& features) {
  nlohmann::json document = {{"model", model},
                             {"dataset", images.name},
                             {"image", {images.channels, images.height, images.width}},
                             {"classes", images.classes},
                             {"parameters", features.parameters},
                             {"tensors", features.tensors},
                             {"checkpoint_bytes", features.checkpoint_bytes.count()},
                             {"matrix_flops", features.matrix_flops.count()},
                             {"matrix_bytes", features.matrix_bytes.count()},
                             {"elementwise_bytes", features.elementwise_bytes.count()},
                             {"launches", features.launches},
                             {"optimizer_bytes", features.optimizer_bytes.count()},
                             {"kinds", nlohmann::json::array()}};
  for (const KindOfWork& kind : features.kinds)
    document["kinds"].push_back({{"kind", to_text(kind.kind)},
                                 {"layers", kind.layers},
                                 {"flops", kind.flops.count()},
                                 {"bytes", kind.bytes.count()},
                                 {"parameter_bytes", kind.parameter_bytes.count()},
                                 {"launches", kind.launches}});
  return document;
}

}  // namespace

bool names_model(const std::string& text) {
  const auto names = model_catalog().names();
  if (std::ranges::find(names, model_entry_name(text)) != names.end()) return true;
  std::error_code none;
  return text.find_first_of("./") == std::string::npos && !std::filesystem::exists(text, none);
}

void show_model(const std::string& model, const std::string& dataset) {
  LearnerSetting setting;
  setting.model = model;
  setting.dataset = images_for(model, dataset);
  const ModelFeatures features = features_of(plan_model(setting));
  if (wants_json()) return print_document(document_of(model, setting.dataset, features));
  fmt::print("{}", text_of(model, setting.dataset, features));
}

}  // namespace tandem::cli

// The models by name, and the setting of a learner: everything that it needs before it computes. Does not
// use libtorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/data/dataset.hpp"

namespace tandem {

/// Least sizes of the buckets into which layers are gathered, from the last layer on.
struct BucketSizes {
  Bytes others{0};  ///< 0: one bucket
  Bytes first{0};   ///< of the first bucket in the backward pass; 0: as the others
};

struct LearnerSetting {
  /// A name of model_catalog(), where a family has options such as "resnet-cifar:blocks=2-3-3:filters=32"; or
  /// the path of a TorchScript file.
  std::string model;
  DatasetInfo dataset;          ///< image shape and classes
  int image_size = 0;           ///< side to which images are scaled for the model; 0: as they are
  Bytes bucket_bytes;           ///< layers are gathered into buckets of at least this size; 0: one bucket
  Bytes first_bucket_bytes{0};  ///< the same of the first bucket in the backward pass; 0: as the others
  std::uint64_t seed = 1;       ///< of the initial parameters: the same seed gives the same model everywhere
  int replica = 0;              ///< of which worker: dropout depends on it, the seed and the step
  Precision precision = Precision::fp32;
  bool deterministic = true;    ///< the same bits in every run on a device; false: the fastest algorithms
  bool sample_losses = false;   ///< keep the loss of each sample
  bool sums_gradients = false;  ///< gradients are those of the sum of a batch's losses, not of the mean
  /// On a GPU: steps are repeated from CUDA graphs (StepRecording). Takes more memory.
  bool graphs = false;
  /// The CUDA device of libtorch, the same as the compute device; none: the processor.
  std::optional<int> gpu = {};

  BucketSizes bucket_sizes() const { return {bucket_bytes, first_bucket_bytes}; }
};

/// Names, summaries and papers of the models; the factory is internal.
const Catalog<int>& model_catalog();
/// The entry of a model: "resnet-cifar" of "resnet-cifar:blocks=2-3-3:filters=32". Other names are their own.
inline std::string model_entry_name(const std::string& model) { return model.substr(0, model.find(':')); }
/// The model was published for photographs of ImageNet. False for names outside the catalogue.
bool is_for_photographs(const std::string& model);
inline constexpr int photograph_side = 224;
/// The images as the model sees them.
inline DatasetInfo scaled_images(const LearnerSetting& setting) {
  DatasetInfo images = setting.dataset;
  if (setting.image_size > 0) images.height = images.width = setting.image_size;
  return images;
}
/// True for a model that is a TorchScript file.
inline bool is_script(const std::string& model) { return model.ends_with(".pt"); }

}  // namespace tandem

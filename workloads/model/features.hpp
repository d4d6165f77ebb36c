// What a step of a model consists of, in the terms of closed forms of its time: flops and bytes by kind of
// layer, kernel launches, parameters. Pure arithmetic on a plan.
// Form: Qi, Sparks, Talwalkar: Paleo. ICLR 2017 (sums over layers); Williams, Waterman, Patterson: Roofline.
// CACM 52(4), 2009.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/estimates/forms.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {

/// All layers of a kind. `flops`, `bytes`: per sample, forward and backward. Values are floats of 4 bytes.
struct KindOfWork {
  LayerKind kind;
  std::int64_t layers = 0;
  Flops flops{};
  Bytes bytes{};              ///< of values that the passes read and write, parameters apart
  Bytes parameter_bytes{};    ///< read and written per step, whatever the batch
  std::int64_t launches = 0;  ///< of kernels per step
};

/// A layer, as KindOfWork.
struct WorkOfLayer {
  Flops flops{};
  Bytes bytes{};
  Bytes parameter_bytes{};
  std::int64_t launches = 0;
};

struct ModelFeatures {
  std::vector<WorkOfLayer> layers;
  std::vector<KindOfWork> kinds;  ///< those that the model has, in the order of LayerKind
  Flops matrix_flops;             ///< per sample: convolutions and fully connected layers
  Bytes matrix_bytes;             ///< per sample
  Bytes elementwise_bytes;        ///< per sample: all other layers
  std::int64_t launches = 0;      ///< per step: forward and backward, without the optimiser
  Bytes optimizer_bytes;          ///< per step: momentum reads 3 and writes 2 values for each parameter
  std::int64_t parameters = 0;    ///< trained
  std::int64_t tensors = 0;       ///< trained
  Bytes checkpoint_bytes;         ///< trained values and running statistics, without the optimiser
};

/// The images for which such models are made: photographs of ImageNet's size, or those of CIFAR-10.
DatasetInfo usual_images(const std::string& model);

/// "convolution", "grouped convolution": the name of a kind.
const char* to_text(LayerKind kind);

/// A layer with a matrix product has three passes (forward, gradient of the inputs, gradient of the
/// weights; without inputs that need a gradient two), each of which reads or writes its inputs, outputs and
/// parameters once, and is one launch. Other layers have a forward and a backward pass, a normalisation twice
/// as many passes over its values; each pass reads the inputs and writes the outputs.
ModelFeatures features_of(const ModelPlan& plan);

/// The layers of a step of so many samples, and the optimiser as the last one.
std::vector<estimates::LayerDemand> layers_of(const ModelFeatures& model, double samples);

/// A feature by its name in `tandem show MODEL --json`; what is per sample, of so many samples. None: there
/// is no such feature.
std::optional<double> feature_named(const std::string& name, const ModelFeatures& model, double samples);

}  // namespace tandem

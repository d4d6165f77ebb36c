// A TorchScript module as a model: what it weighs and costs, and a learner that trains it. No libtorch header
// passes this one.
#pragma once

#include <memory>

#include "workloads/learner/torch_learner.hpp"

namespace tandem {

/// Tensors are the module's parameters and its buffers of real numbers. A parameter that needs no gradient,
/// or that the output does not depend on, counts as a statistic. Flops are those of convolutions and matrix
/// products from the first trained tensor on, counted in a forward pass over empty images.
/// Errors: ConfigError when the file is missing or no TorchScript, or when the module does not turn such
/// images into a value for each class.
ModelDescription describe_torch_script(const LearnerSetting& setting);

/// StartOffsets with the file's values. What the module draws at random depends on seed, replica and step
/// alone. Errors: as describe_torch_script.
std::unique_ptr<Learner> make_script_learner(const LearnerSetting& setting, ComputeDevice& compute_device);

}  // namespace tandem

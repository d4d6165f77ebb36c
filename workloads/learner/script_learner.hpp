// A TorchScript module as a model: its sizes and costs, and a learner that trains it. Includes no header of
// libtorch.
#pragma once

#include <memory>

#include "workloads/learner/torch_learner.hpp"

namespace tandem {

/// Tensors are the module's parameters and its buffers of real numbers. A parameter that needs no gradient,
/// or that the output does not depend on, counts as a statistic. Flops are those of convolutions and matrix
/// products from the first trained tensor on, counted in a forward pass over empty images.
/// Errors: ConfigError when the file is missing or not TorchScript, or when the module does not return a
/// value for each class from such images.
ModelDescription describe_torch_script(const LearnerSetting& setting);

/// Starts with the file's values. The module's random numbers depend on seed, replica and step
/// only. Errors: as describe_torch_script.
std::unique_ptr<Learner> make_script_learner(const LearnerSetting& setting, ComputeDevice& compute_device);

}  // namespace tandem

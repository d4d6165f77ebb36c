// The functions that use libtorch, for the library that links it and for tests. Includes no header of
// libtorch.
#pragma once

#include <memory>
#include <string>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// As make_learner of learner.hpp.
std::unique_ptr<Learner> make_torch_learner(const LearnerSetting& setting, ComputeDevice& compute_device);

/// As learner_gpus of learner.hpp.
int torch_gpus();

// As save_checkpoint and load_checkpoint of learner.hpp.
void save_torch_checkpoint(const std::string& path, const Checkpoint& checkpoint,
                           const ModelDescription& model);
Checkpoint load_torch_checkpoint(const std::string& path, const ModelDescription& model);

}  // namespace tandem

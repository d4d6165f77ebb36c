// The interface of the library that links libtorch. Programs load it on the first use of real math, because
// libtorch takes a second to load and most commands do not need it. Includes no header of
// libtorch.
#pragma once

#include <memory>
#include <string>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// The functions of the same names in learner.hpp.
struct TorchFunctions {
  std::unique_ptr<Learner> (*make_learner)(const LearnerSetting&, ComputeDevice&);
  ModelDescription (*describe_script)(const LearnerSetting&);
  void (*save_checkpoint)(const std::string& path, const Checkpoint&, const ModelDescription&);
  Checkpoint (*load_checkpoint)(const std::string& path, const ModelDescription&);
  int (*learner_gpus)();
};

/// The library's file, in the folder of the programs, and its only function, of type TorchFunctionsOf.
constexpr const char* torch_library_name = "libtandem_torch.so";
constexpr const char* torch_functions_name = "tandem_torch_functions";
using TorchFunctionsOf = const TorchFunctions* (*)();

}  // namespace tandem

// The library that links libtorch, as the programs see it. They load it when real mathematics is first asked
// for: libtorch takes a second to load, and most of what Tandem does goes without. No libtorch header passes
// this one.
#pragma once

#include <memory>
#include <string>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// What the functions of the same names in learner.hpp do.
struct TorchFunctions {
  std::unique_ptr<Learner> (*make_learner)(const LearnerSetting&, ComputeDevice&);
  ModelDescription (*describe_script)(const LearnerSetting&);
  void (*save_checkpoint)(const std::string& path, const Checkpoint&, const ModelDescription&);
  Checkpoint (*load_checkpoint)(const std::string& path, const ModelDescription&);
  int (*learner_gpus)();
};

/// The name of the library's file, beside the programs, and of its one function, of type TorchFunctionsOf.
constexpr const char* torch_library_name = "libtandem_torch.so";
constexpr const char* torch_functions_name = "tandem_torch_functions";
using TorchFunctionsOf = const TorchFunctions* (*)();

}  // namespace tandem

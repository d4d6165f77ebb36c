// The entry of the library that links libtorch.
#include "workloads/learner/torch_library.hpp"

#include "workloads/learner/script_learner.hpp"
#include "workloads/learner/torch_learner.hpp"

namespace {

constexpr tandem::TorchFunctions functions{tandem::make_torch_learner, tandem::describe_torch_script,
                                           tandem::save_torch_checkpoint, tandem::load_torch_checkpoint,
                                           tandem::torch_gpus};

}  // namespace

extern "C" const tandem::TorchFunctions* tandem_torch_functions() { return &functions; }

// The entry of the library that links libtorch.
#include "workloads/learner/torch_library.hpp"

#include "workloads/learner/script_learner.hpp"
#include "workloads/learner/torch_learner.hpp"

namespace {

std::unique_ptr<tandem::Learner> make_learner(const tandem::LearnerSetting& setting) {
  return tandem::make_torch_learner(setting, tandem::ModelPlace::in_host_spans);
}

constexpr tandem::TorchFunctions functions{make_learner, tandem::describe_torch_script,
                                           tandem::save_torch_checkpoint, tandem::load_torch_checkpoint};

}  // namespace

extern "C" const tandem::TorchFunctions* tandem_torch_functions() { return &functions; }

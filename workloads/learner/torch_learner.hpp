// What is made with libtorch, for the library that links it and for tests. No libtorch header passes this
// one.
#pragma once

#include <memory>
#include <string>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// Where the live model is kept. `own_copy`: apart from the host's flat model and brought up to date before
/// every forward, as a GPU needs it; on a processor only tests want that.
enum class ModelPlace { in_host_spans, own_copy };
std::unique_ptr<Learner> make_torch_learner(const LearnerSetting& setting, ModelPlace place);

// As save_checkpoint and load_checkpoint of learner.hpp.
void save_torch_checkpoint(const std::string& path, const Checkpoint& checkpoint,
                           const ModelDescription& model);
Checkpoint load_torch_checkpoint(const std::string& path, const ModelDescription& model);

}  // namespace tandem

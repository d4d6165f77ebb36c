// Where the libtorch learner keeps its model; for make_learner and for tests. No libtorch header passes this
// one.
#pragma once

#include <memory>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// Where the live model is kept. `own_copy`: apart from the host's flat model and brought up to date before
/// every forward, as a GPU needs it; on a processor only tests want that.
enum class ModelPlace { in_host_spans, own_copy };
std::unique_ptr<Learner> make_torch_learner(const LearnerSetting& setting, ModelPlace place);

}  // namespace tandem

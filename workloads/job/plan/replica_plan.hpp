// The model that a job trains, and the data with which a rank makes its own copy of it. Plain data.
#pragma once

#include <memory>
#include <string>

#include "workloads/data/dataset.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

struct ReplicaPlan {
  std::shared_ptr<const ModelDescription> description;  ///< one for all ranks of a process
  LearnerSetting learner;                               ///< without replica and GPU
  bool real_math = false;
  std::string initial;                         ///< path of the checkpoint to start from; empty: from the seed
  OnNonFinite non_finite = OnNonFinite::stop;  ///< see Experiment::Workload
  int rate_ramp = 0;                           ///< recovery.ramp
};

/// Errors: ConfigError, as describe_model.
/// `sample_losses`: learners keep the loss of each sample.
ReplicaPlan plan_replica(const Experiment& experiment, const DatasetInfo& dataset, bool sample_losses);

}  // namespace tandem

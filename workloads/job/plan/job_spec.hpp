// The inputs of a job: the resolved experiment, its platform, and where its files are. Plain data.
#pragma once

#include <string>

#include "platforms/description.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/origin.hpp"

namespace tandem {

struct JobSpec {
  Experiment experiment;
  platforms::Description platform;
  std::string directory;  ///< the result directory, which also has the checkpoints
  /// Memory with the data set's records (see dataset_memory.hpp). If it is empty, or not of this machine,
  /// the records are read from files.
  std::string data_memory = {};
  Locate locate = {};  ///< where keys were set, for warnings; empty: not known

  bool real_math() const { return experiment.workload.math == Experiment::Workload::Math::real; }
};

}  // namespace tandem

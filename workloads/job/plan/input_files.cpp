#include "workloads/job/plan/input_files.hpp"

#include <filesystem>

#include "workloads/learner/learner.hpp"

namespace tandem {

std::vector<std::string> input_files(const Job& job) {
  const auto& experiment = job.spec().experiment;
  const auto& workload = experiment.workload;
  std::vector<std::string> files;
  if (job.real_math()) files = dataset_files(job.chosen().dataset);
  if (!experiment.data.losses.empty()) files.push_back(experiment.data.losses);
  if (is_script(workload.model)) files.push_back(workload.model);
  if (job.resume() == nullptr && job.real_math() && !workload.initial.empty())
    files.push_back(workload.initial);
  for (auto& file : files) file = std::filesystem::absolute(file).lexically_normal().string();
  return files;
}

}  // namespace tandem

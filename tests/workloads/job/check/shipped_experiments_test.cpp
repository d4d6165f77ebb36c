// The shipped experiments load, with every variant, on their platforms, and have the documented sizes.
#include <gtest/gtest.h>

#include <filesystem>

#include "platforms/load.hpp"
#include "tests/support/paths.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem {
namespace TANDEM_FILE {

std::string file(const std::string& name) {
  return testing::source_folder() + "/workloads/experiments/" + name;
}

Experiment placed(Experiment experiment, const platforms::Description& platform) {
  resolve_placement(experiment, platform);
  return experiment;
}

TEST(ShippedExperiments, LoadWithEveryVariant) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(file(""))) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path());
    ++count;
    const auto [experiment, locate, jobs, replaced] = load_located(entry.path().string(), {}, "");
    const auto platform = platforms::load_platform(experiment.platform);
    if (jobs.empty()) {
      EXPECT_FALSE(placed(experiment, platform).placement.workers.empty());
    }
    for (const LocatedJob& job : jobs)
      EXPECT_FALSE(placed(job.experiment, platform).placement.workers.empty()) << job.name;
    for (const auto& [variant, overrides] : experiment.variants)
      EXPECT_FALSE(placed(apply_variant(experiment, variant), platform).placement.workers.empty()) << variant;
  }
  EXPECT_GE(count, 4);
}

TEST(ShippedExperiments, ScaleHas1024WorkersAndEightServers) {
  const Experiment experiment = load_experiment(file("scale.yaml"));
  const auto resolved = placed(experiment, platforms::load_platform(experiment.platform));
  EXPECT_EQ(resolved.placement.workers.size(), 1024U);
  EXPECT_EQ(resolved.placement.servers.size(), 8U);
}

TEST(ShippedExperiments, EveryVariantOfMixedLabHasTheSameWorkers) {
  const Experiment experiment = load_experiment(file("mixed_lab.yaml"));
  const auto platform = platforms::load_platform(experiment.platform);
  const auto workers = placed(experiment, platform).placement.workers;
  EXPECT_EQ(workers.size(), 6U);
  for (const auto& [variant, overrides] : experiment.variants)
    EXPECT_EQ(placed(apply_variant(experiment, variant), platform).placement.workers, workers) << variant;
}

}  // namespace TANDEM_FILE
}  // namespace tandem

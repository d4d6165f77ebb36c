// A job whose samples are split by class among more workers than there are classes says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workloads/job/check/experiment_file.hpp"
#include "workloads/job/check/job_description.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// Of a job on as many equal hosts, whose data set has ten classes.
std::vector<std::string> warnings_for(int workers, const std::string& split) {
  platforms::Description platform;
  platform.file = "lab.xml";
  for (int i = 0; i <= workers; ++i) {
    platforms::Host& host = platform.hosts.emplace_back();
    host.name = "node-" + std::to_string(i);
    host.device.speed = FlopsPerSecond(1e12);
    host.device.memory_rate = BytesPerSecond(1e10);
    host.device.has_one_speed = true;
  }
  Experiment experiment;
  experiment.workload.model = experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 1200;
  experiment.workload.synthetic_parameters = 1000;
  experiment.workload.synthetic_forward = experiment.workload.synthetic_backward = Flops(1e6);
  experiment.data.split = split;
  experiment.placement.servers = {"node-0"};
  experiment.stop.rounds = 1;
  resolve_placement(experiment, platform);
  return warnings_of(Job(experiment, platform, ""));
}

TEST(SharedClasses, AreNamedWhereWorkersOutnumberClasses) {
  const auto is_of_classes = ::testing::HasSubstr("data.split by-class has ");
  EXPECT_THAT(warnings_for(10, "by-class"), ::testing::Not(::testing::Contains(is_of_classes)));
  EXPECT_THAT(warnings_for(12, "iid"), ::testing::Not(::testing::Contains(is_of_classes)));
  EXPECT_THAT(warnings_for(12, "by-class"), ::testing::Contains(::testing::HasSubstr(
                                                "10 classes for 12 workers: each worker gets about 100 "
                                                "samples, of one or two classes")));
}

}  // namespace TANDEM_FILE
}  // namespace tandem

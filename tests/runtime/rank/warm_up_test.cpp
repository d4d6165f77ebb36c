// The training step before time zero: who computes it, and that the job's first step finds its pages.
#include "runtime/rank/warm_up.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "workloads/learner/learner.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// Rank 0 is the worker, 1 the server, and 2 the evaluator.
Job job_of(const std::string& model, int batch, DeviceSpeed devices = DeviceSpeed::emulated) {
  Experiment experiment;
  experiment.workload.math = Math::real;
  experiment.workload.model = model;
  experiment.workload.dataset = "synthetic";
  experiment.workload.batch = batch;
  experiment.run.devices = devices;
  experiment.sync.algorithm = "bsp";
  experiment.placement.workers = {"here"};
  experiment.placement.servers = {"here"};
  experiment.placement.evaluator = "here";
  experiment.evaluate_every = 1;
  experiment.stop.rounds = 1;
  platforms::Host host;
  host.name = "here";
  host.device = platforms::find_device("v100");
  host.gpu = 0;
  platforms::Description platform;
  platform.file = "warm_up_test";
  platform.hosts = {host};
  return {experiment, platform, ""};
}

TEST(WarmUp, EachRankComputesItsOwnPart) {
  const Job job = job_of("lenet", 8);
  EXPECT_EQ(warm_up(job, 0), (WarmUp{.trained = true}));
  EXPECT_EQ(warm_up(job, 1), WarmUp());
  EXPECT_EQ(warm_up(job, 2), (WarmUp{.evaluated = true}));
  EXPECT_EQ(warm_up(job, 3), WarmUp()) << "a rank without a role";
}

/// LeNet's forward and backward pass are 13 Mflop a sample.
TEST(WarmUp, LeavesOutPassesThatTakeLong) {
  EXPECT_EQ(warm_up(job_of("lenet", 400), 0), WarmUp());
  EXPECT_EQ(warm_up(job_of("resnet18", 8), 0), WarmUp());
  EXPECT_EQ(warm_up(job_of("resnet18", 8), 2), WarmUp());
}

TEST(WarmUp, LeavesOutRanksWithAGpu) {
  EXPECT_EQ(warm_up(job_of("lenet", 8, DeviceSpeed::native), 0), WarmUp());
}

/// Page faults of the first step of a process. Each test runs in a process of its own, in which libtorch has
/// computed nothing yet.
long faults_of_first_step(const Job& job, bool is_warm) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (is_warm) warm_up(job, 0);
    const LearnerSetting& setting = job.replica_plan().learner;
    const auto learner = make_learner(setting, host_device());
    const std::vector<std::byte> records(
        static_cast<std::size_t>((setting.dataset.record_bytes() * job.data().batch()).count()));
    const auto faults = [] {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      return usage.ru_minflt + usage.ru_majflt;
    };
    const long before = faults();
    learner->load(records);
    learner->forward();
    for (int bucket = 0; bucket < static_cast<int>(job.model().buckets.size()); ++bucket)
      learner->backward(bucket);
    const long found = faults() - before;
    _exit(write(ends[1], &found, sizeof found) == sizeof found ? 0 : 1);
  }
  long found = 0;
  EXPECT_EQ(read(ends[0], &found, sizeof found), static_cast<ssize_t>(sizeof found));
  int status = 0;
  waitpid(child, &status, 0);
  for (const int end : ends) close(end);
  return found;
}

TEST(WarmUp, SparesTheFirstStepMostPageFaults) {
  const Job job = job_of("lenet", 32);
  prepare_learner();
  const long cold = faults_of_first_step(job, false);
  const long warm = faults_of_first_step(job, true);
  EXPECT_LT(2 * warm, cold);
}

}  // namespace TANDEM_FILE
}  // namespace tandem

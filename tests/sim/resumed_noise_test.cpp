// Random variation in the simulation of a resumed job: computation times of steps are those of the
// uninterrupted job, all others are drawn anew.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "platforms/load.hpp"
#include "tests/sim/temporary_platform.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/timing/compute_time_sampler.hpp"

namespace tandem {
namespace TANDEM_FILE {

class ResumedNoise : public ::testing::Test {
 protected:
  ResumedNoise() {
    Experiment experiment;
    experiment.platform = file_.path();
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.model = "mlp";
    experiment.workload.dataset = "synthetic";
    experiment.workload.train_samples = 600;
    experiment.workload.batch = 20;
    experiment.stop.rounds = 10;
    experiment.placement.workers = {"host-0", "host-1"};
    experiment.placement.servers = {"host-2"};
    experiment.run.devices = DeviceSpeed::native;
    experiment.physics.noise = NoiseSource::profile;
    experiment.physics.profile = folder_.path().string() + "/profile.json";
    Profile profile;
    profile.paths = {{.from = "host-0", .to = "host-1", .messages = {}, .segments = {{0, 1e-4, 1e-8}}}};
    const std::vector<double> times = {1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.4};
    profile.compute = {{"mlp", Work::Kind::decode, -1, 20, 0, 1.4, 0.0, times},
                       {"mlp", Work::Kind::forward, -1, 20, 0, 1.4, 0.0, times},
                       {"mlp", Work::Kind::update, -1, 0, 1000, 1.4, 0.0, times}};
    profile.start_offsets = {.model = "", .raw_s = times};
    save_profile(experiment.physics.profile, profile);
    const auto platform = platforms::load_platform(file_.path());
    whole_ = std::make_unique<Job>(experiment, platform, folder_.path().string());
    resumed_ = std::make_unique<Job>(experiment, platform, folder_.path().string());
    resumed_->resume_from({.directory = folder_.path().string(), .round = 4});
  }

  /// Times of a worker's steps from `first` to the tenth.
  static std::vector<double> steps(const Job& job, Rank rank, int first) {
    ComputeTimeSampler device(job, rank, 7);
    std::vector<double> seconds;
    for (int step = first; step < 10; ++step) {
      seconds.push_back(device.next({.kind = Work::Kind::decode, .samples = 20, .step = step}).count());
      seconds.push_back(device.next({.kind = Work::Kind::forward, .samples = 20, .step = step}).count());
      seconds.push_back(device.next({.kind = Work::Kind::update, .bytes = Bytes(1000)}).count());
    }
    return seconds;
  }
  /// The same with prefetching: each next batch is decoded after the forward of a step.
  static std::vector<double> steps_that_load_ahead(const Job& job, int first) {
    ComputeTimeSampler device(job, 0, 7);
    device.next({.kind = Work::Kind::decode, .samples = 20, .step = first});
    std::vector<double> seconds;
    for (int step = first; step < 10; ++step) {
      seconds.push_back(device.next({.kind = Work::Kind::forward, .samples = 20, .step = step}).count());
      seconds.push_back(device.next({.kind = Work::Kind::decode, .samples = 20, .step = step}).count());
      seconds.push_back(device.next({.kind = Work::Kind::update, .bytes = Bytes(1000)}).count());
    }
    return seconds;
  }
  /// Times of a role that takes no steps.
  static std::vector<double> updates(const Job& job) {
    ComputeTimeSampler device(job, 2, 7);
    std::vector<double> seconds = {device.begin().count()};
    for (int update = 0; update < 20; ++update)
      seconds.push_back(device.next({.kind = Work::Kind::update, .bytes = Bytes(1000)}).count());
    return seconds;
  }

  testing::TemporaryFolder folder_;
  testing::TemporaryPlatform file_{testing::TemporaryPlatform::star(3, 1e8, 1e-4)};
  std::unique_ptr<Job> whole_;
  std::unique_ptr<Job> resumed_;
};

TEST_F(ResumedNoise, StepsVaryAsInTheUninterruptedJob) {
  for (const Rank rank : {0, 1}) {
    const auto all = steps(*whole_, rank, 0);
    EXPECT_EQ(steps(*resumed_, rank, 4), std::vector<double>(all.begin() + 4 * 3, all.end()));
  }
  EXPECT_NE(steps(*whole_, 0, 0), steps(*whole_, 1, 0));
  const auto all = steps(*whole_, 0, 0);
  EXPECT_NE(std::vector<double>(all.begin(), all.begin() + 15),
            std::vector<double>(all.begin() + 15, all.end()))
      << "steps do not vary";
}

TEST_F(ResumedNoise, LoadingTheFirstBatchAgainShiftsNothing) {
  const auto all = steps_that_load_ahead(*whole_, 0);
  EXPECT_EQ(steps_that_load_ahead(*resumed_, 4), std::vector<double>(all.begin() + 4 * 3, all.end()));
}

TEST_F(ResumedNoise, OtherTimesDifferFromTheFirstPart) {
  EXPECT_EQ(updates(*whole_), updates(*whole_));
  EXPECT_EQ(updates(*resumed_), updates(*resumed_));
  EXPECT_NE(updates(*resumed_), updates(*whole_));
  EXPECT_EQ(seed_of_events(7, *whole_), 7U);
  EXPECT_NE(seed_of_events(7, *resumed_), 7U);
  EXPECT_NE(seed_of_events(7, *resumed_), seed_of_events(8, *resumed_));
}

}  // namespace TANDEM_FILE
}  // namespace tandem

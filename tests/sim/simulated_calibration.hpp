// Calibrates a simulated cluster, where the truth is known.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platforms/load.hpp"
#include "sim/simulation.hpp"
#include "tests/sim/temporary_platform.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/timing/compute_time_sampler.hpp"

namespace tandem::testing {

inline constexpr double latency_s = 1e-4;
inline constexpr double bandwidth = 1e8;

/// Duration of a simulated native all-reduce.
inline double all_reduce_s(int ranks, std::int64_t bytes) {
  return 1e-4 * ranks + 1e-8 * static_cast<double>(bytes);
}

/// Native hosts on a star, with real math; the last one is the server.
inline Experiment star_experiment(const std::string& platform_file, int hosts = 3) {
  Experiment experiment;
  experiment.platform = platform_file;
  experiment.workload.math = Experiment::Workload::Math::real;
  experiment.workload.model = "mlp";
  experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 600;
  experiment.workload.test_samples = 10;
  experiment.workload.batch = 20;
  experiment.stop.rounds = 1;
  for (int worker = 0; worker + 1 < hosts; ++worker)
    experiment.placement.workers.push_back(fmt::format("host-{}", worker));
  experiment.placement.servers = {fmt::format("host-{}", hosts - 1)};
  experiment.run.devices = DeviceSpeed::native;
  return experiment;
}

inline const std::string three_hosts = TemporaryPlatform::star(3, bandwidth, latency_s);

/// `truth`: the profile of the simulated devices; empty: as in the platform file. `change` modifies the
/// setting last. `compression`: that of the job. `hosts` are those of `platform`.
inline Profile calibrate_simulated(const CalibrationSetting& calibration, std::unique_ptr<Job>& job,
                                   const TemporaryFolder& folder,
                                   const std::function<void(sim::SimulationSetting&)>& change = {},
                                   const std::string& truth = {}, const std::string& compression = "none",
                                   const std::string& platform = three_hosts, int hosts = 3) {
  const TemporaryPlatform file(platform);
  Experiment experiment = star_experiment(file.path(), hosts);
  experiment.physics.profile = truth;
  experiment.sync.compression = compression;
  job = std::make_unique<Job>(experiment, platforms::load_platform(file.path()), folder.path().string());
  sim::SimulationSetting setting;
  setting.platform_file = file.path();
  std::vector<ComputeTimeSampler> devices;
  for (std::size_t rank = 0; rank < job->roster().assignments().size(); ++rank) {
    setting.hosts.push_back(job->roster().assignments()[rank].host);
    devices.emplace_back(*job, static_cast<Rank>(rank), experiment.seed);
  }
  const auto device = [&](Rank rank) -> ComputeTimeSampler& {
    return devices[static_cast<std::size_t>(rank)];
  };
  setting.price = [&](Rank rank, const Work& work) { return device(rank).next(work); };
  if (ComputeTimeSampler::any_slowdown(*job))
    setting.slowdown = [&](Rank rank, const Work& work) { return device(rank).slowdown(work); };
  setting.all_reduce = [](std::span<const Rank> members, Bytes size) {
    const Seconds alone(all_reduce_s(static_cast<int>(members.size()), size.count()));
    return sim::AllReduceTime(alone, alone * 0.25);
  };
  Profile profile;
  setting.body = [&](Context& context) {
    CalibrationSetting used = calibration;
    // Most tests are about something else, and reads of files take real time.
    if (used.disk_repetitions != 1) used.disk_repetitions = 0;
    Profile own = calibrate(*job, context, used);
    if (context.rank() == 0) profile = std::move(own);
  };
  if (change) change(setting);
  sim::simulate(setting);
  return profile;
}

}  // namespace tandem::testing

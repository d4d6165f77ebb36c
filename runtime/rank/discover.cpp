#include "runtime/rank/discover.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "platforms/discovery/survey.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "runtime/mpi/wire.hpp"
#include "runtime/rank/hardware.hpp"
#include "runtime/rank/rank_process.hpp"
#include "workloads/calibration/compute_speed.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/discovery/traffic.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {
namespace {

/// A job whose steps are measured: LeNet, as in most shipped experiments.
Job sample_job(int ranks, int batch) {
  Experiment experiment;
  experiment.workload.math = Math::real;
  experiment.workload.model = "lenet";
  experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 4 * batch;
  experiment.workload.test_samples = batch;
  experiment.workload.batch = batch;
  experiment.run.devices = DeviceSpeed::native;
  experiment.stop.rounds = 1;
  experiment.sync.over = sync::Route::all_reduce;
  platforms::Description platform;
  for (int rank = 0; rank < ranks; ++rank) {
    platforms::Host host;
    host.name = fmt::format("machine-{}", rank);
    host.speed = FlopsPerSecond(1e9);
    host.device = {"processor", host.speed, BytesPerSecond(1e10), Seconds(0.0)};
    experiment.placement.workers.push_back(host.name);
    platform.hosts.push_back(host);
  }
  return Job(experiment, platform, "");
}

/// The speed of one core on training work.
ComputeSpeed measure_speed(const Job& job, Context& context) {
  constexpr int repetitions = 9;
  auto times = calibration::measure_alone(job, context, repetitions);
  for (auto& entry : times.entries) entry.median_s = quantile(entry.raw_s, 0.5);
  return compute_speed(times.entries, job.model());
}

/// Machines one after the other, because those of an emulated cluster share their cores and disks.
nlohmann::json measure_machine(const nlohmann::json& request, MpiContext& context) {
  const int machines = request.at("machines").get<int>();
  nlohmann::json own = describe_hardware();
  const Job job = sample_job(context.world_size(), request.at("batch").get<int>());
  if (context.rank() < machines) prepare_learner();
  for (Rank rank = 0; rank < machines; ++rank) {
    context.meet();
    if (rank != context.rank()) continue;
    const ComputeSpeed speed = measure_speed(job, context);
    const DiskRates disk = measure_disk(request.at("disk").get<std::string>());
    own["core_speed"] = speed.core.count();
    own["memory_rate"] = speed.memory.count();
    own["disk_read"] = disk.read;
    own["disk_write"] = disk.write;
  }
  context.meet();
  return own;
}

std::vector<discovery::KnownGroup> known_groups(const nlohmann::json& list) {
  std::vector<discovery::KnownGroup> known;
  for (const auto& group : list)
    known.push_back({group.at("name").get<std::string>(), group.at("machines").get<std::vector<int>>(),
                     group.at("groups").get<std::vector<int>>()});
  return known;
}

}  // namespace

void discover_machines(const std::string& text) {
  const auto request = nlohmann::json::parse(text);
  const int machines = request.at("machines").get<int>();
  MpiContext context(MPI_COMM_WORLD, {});
  if (context.rank() == 0)
    print_status(fmt::format("measuring processors and disks of {} machines", machines));
  const std::string own = measure_machine(request, context).dump();
  const auto* begin = reinterpret_cast<const std::byte*>(own.data());
  nlohmann::json described = nlohmann::json::array();
  for (const auto& bytes : gather_bytes(MPI_COMM_WORLD, {begin, begin + own.size()}))
    if (described.size() < static_cast<std::size_t>(machines))
      described.push_back(nlohmann::json::parse(reinterpret_cast<const char*>(bytes.data()),
                                                reinterpret_cast<const char*>(bytes.data()) + bytes.size()));
  if (context.rank() != 0) return serve_traffic(context);
  double last_progress = -1.0;
  discovery::SurveySetting setting{.has_companions = true, .known = known_groups(request.at("known"))};
  discovery::Tree tree;
  {
    TrafficBench bench(context);
    tree = discovery::survey(machines, bench, setting,
                             [&](double fraction) { print_progress(fraction, last_progress); });
  }
  fmt::print("{}\n", nlohmann::json{{"tree", discovery::to_json(tree)}, {"machines", described}}.dump());
  std::fflush(stdout);
}

}  // namespace tandem

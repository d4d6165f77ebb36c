// A job whose machines depart, for the simulator's benchmark.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "platforms/load.hpp"
#include "sim/job_world.hpp"
#include "tests/benchmarks/sim_bench_platform.hpp"
#include "tests/benchmarks/sim_programs.hpp"

namespace tandem::benchmarks {
namespace {

/// Of a round of 1,024 workers whose pushes share the server's link; others are faster.
constexpr double round_s = 1.2;

/// Departures at even distances while the job runs.
std::string times_of(int departures, double until_s) {
  std::string times;
  for (int slot = 0; slot < departures; ++slot)
    times += fmt::format("{}{}", slot == 0 ? "" : ";", until_s * (slot + 0.5) / departures);
  return times;
}

}  // namespace

Outcome job_with_departures(int workers, int rounds, int departures) {
  const PlatformFile platform(workers + 1);
  Experiment experiment;
  experiment.platform = platform.path();
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.model = "mlp";
  experiment.workload.dataset = "synthetic";
  experiment.sync.algorithm = "bsp";
  experiment.stop.rounds = rounds;
  experiment.placement.servers = {"h0"};
  for (int worker = 1; worker <= workers; ++worker)
    experiment.placement.workers.push_back(fmt::format("h{}", worker));
  if (departures > 0) {
    experiment.transience.lifetime = "fixed";
    experiment.transience.options["times"] =
        times_of(departures, round_s * static_cast<double>(rounds) * workers / 1024.0);
    experiment.transience.start = Seconds(1.0);
    experiment.recovery.policy = "replace";
  }
  const Job job(std::move(experiment), platforms::load_platform(platform.path()), "");
  const double begin_s = cpu_seconds();
  const sim::JobRun run = sim::simulate_job(job, {});
  const double cpu_s = cpu_seconds() - begin_s;
  const auto departed = std::ranges::count(run.journal.membership, "departed", &MembershipRecord::event);
  if (departed != departures)
    throw std::logic_error(
        fmt::format("{} departures instead of {} in {} s", departed, departures, run.makespan.count()));
  return {cpu_s, run.makespan.count()};
}

}  // namespace tandem::benchmarks

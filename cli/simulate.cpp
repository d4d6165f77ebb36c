// `tandem simulate`: the job under a simulated clock.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/progress.hpp"
#include "cli/results_text.hpp"
#include "cli/resume.hpp"
#include "platforms/this_machine.hpp"
#include "policies/vocabulary/rng.hpp"
#include "sim/simulation.hpp"
#include "sim/witness/witness.hpp"
#include "workloads/cost/eager_limit.hpp"
#include "workloads/job/experiment_file.hpp"
#include "workloads/job/job.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/roles/run_role.hpp"
#include "workloads/timing/compute_time_sampler.hpp"
#include "workloads/timing/library_all_reduce.hpp"

namespace tandem::cli {
namespace {

struct SimulateOptions : JobOptions {
  std::string fidelity = "transfers";
};

/// The platform to simulate on, and how its network behaves.
struct Network {
  std::string platform_file;
  std::vector<Profile::Path> measured;
  Bytes eager_limit = tcp_eager_limit;
};

/// Of the way that most messages take.
Bytes eager_limit_of(const Profile& profile) { return Bytes(profile.paths.back().eager_bytes); }

/// Errors: ConfigError when the profile cannot tell this experiment's network.
void check_profile(const Job& job) {
  const auto& experiment = job.experiment();
  if (job.profile() == nullptr) return;
  if (experiment.physics.network == NetworkSource::platform && job.profile()->hosts.empty()) return;
  const std::string& cluster = job.profile()->cluster;
  if (!cluster.empty() &&
      std::filesystem::path(cluster).filename() != std::filesystem::path(experiment.platform).filename())
    throw ConfigError(fmt::format("{}: measured on the emulated cluster of {}, not on that of {}",
                                  experiment.physics.profile, cluster, experiment.platform));
}

/// Under "profile" messages cost what was measured: over the platform's own links if that was its emulated
/// cluster; else every host stands on the calibrated machine's network, as do the ranks of a plain run.
Network network_of(const Job& job) {
  const auto& experiment = job.experiment();
  if (experiment.physics.network == NetworkSource::platform)
    return {.platform_file = experiment.platform, .measured = {}};
  const Profile& profile = *job.profile();
  if (!profile.cluster.empty()) return {experiment.platform, profile.paths, eager_limit_of(profile)};
  const auto& segments = profile.paths.front().segments;
  // The links' figures only have to be positive: the segments scale them for each size.
  const platforms::MeasuredNetwork network{Seconds(std::max(1e-7, segments.front().alpha_s)),
                                           BytesPerSecond(1.0 / segments.back().beta_s)};
  const std::string twin = job.directory() + "/twin.xml";
  std::ofstream(twin) << platforms::twin_xml(job.platform(), network);
  return {twin, profile.paths, eager_limit_of(profile)};
}

void warn_of_stale_profile(const Job& job) {
  const Profile* profile = job.profile();
  if (profile == nullptr) return;
  // What follows the first comma are the libraries of the ranks, which this program does not know.
  if (const std::string software = profile->software.substr(0, profile->software.find(','));
      software != this_software())
    fmt::print(stderr, "tandem: warning: the profile was measured with {}, this is {}; calibrate again\n",
               software, this_software());
  if (profile->machine == this_machine()) return;
  fmt::print(stderr,
             "tandem: warning: the profile was measured on another machine ({}), not on this one ({})\n",
             profile->machine, this_machine());
}

/// Of what repetition 0 draws, and every other repetition anew.
std::uint64_t noise_seed_of(const Experiment& experiment, int repetition) {
  if (repetition == 0) return experiment.seed;
  return Rng::stream(experiment.seed, "repetition", static_cast<std::uint64_t>(repetition)).next();
}

/// Bad input that only the simulation finds (a route that is missing) leaves no half-written directory
/// either.
sim::SimulationResult simulate_or_clear(const sim::SimulationSetting& setting, const std::string& fidelity,
                                        const std::string& out) {
  try {
    return fidelity == "smpi" ? witness::simulate(setting) : sim::simulate(setting);
  } catch (const ConfigError&) {
    std::filesystem::remove_all(out);
    throw;
  }
}

void simulate_job(const SimulateOptions& options) {
  LoadedJob loaded = load_job_or_resumed(options);
  const std::string world = options.fidelity == "smpi" ? "smpi" : "simulated";
  const std::string out = result_directory_of(options, loaded.experiment, world);
  // Building the job first finds bad input before anything is written.
  const platforms::Network between = network_of_workers(loaded);
  Job job(std::move(loaded.experiment), std::move(loaded.platform), out, between);
  check_profile(job);
  resume_if_asked(job, options);
  create_result_directory(out, options.force);
  write_document(out, job);
  warn_of_stale_profile(job);
  ProgressBar bar("simulate " + job.experiment().name);
  job.on_progress([&](double fraction) { bar.update(fraction); });

  const Network network = network_of(job);
  std::vector<Journal> journals(job.assignments().size());
  std::vector<ComputeTimeSampler> devices;
  const std::uint64_t noise_seed = noise_seed_of(job.experiment(), options.repetition);
  sim::SimulationSetting setting;
  setting.platform_file = network.platform_file;
  setting.network = network.measured;
  setting.eager_limit = network.eager_limit;
  for (const auto& host : job.platform().hosts) setting.host_kinds[host.name] = job.kind_of(host);
  for (std::size_t rank = 0; rank < job.assignments().size(); ++rank) {
    setting.hosts.push_back(job.assignments()[rank].host);
    setting.start_offsets.push_back(devices.emplace_back(job, static_cast<Rank>(rank), noise_seed).begin());
    journals[rank].keep_decisions = options.decisions;
  }
  const std::uint64_t event_seed = seed_of_events(noise_seed, job);
  if (job.experiment().physics.noise == NoiseSource::profile)
    setting.noise = {event_seed, job.profile()->share_spread};
  setting.price = [&](Rank rank, const Work& work) {
    return devices[static_cast<std::size_t>(rank)].next(work);
  };
  setting.disk_delay = [&](Rank rank) { return devices[static_cast<std::size_t>(rank)].disk_delay(); };
  if (ComputeTimeSampler::any_slowdown(job))
    setting.slowdown = [&](Rank rank, const Work& work) {
      return devices[static_cast<std::size_t>(rank)].slowdown(work);
    };
  LibraryAllReduceCost native(job, between, event_seed);
  setting.all_reduce = [&](std::span<const Rank> members, Bytes size) {
    const auto time = native.next(members, size);
    return sim::AllReduceTime(time.alone, time.behind);
  };
  setting.body = [&](Context& context) {
    Journal& journal = journals[static_cast<std::size_t>(context.rank())];
    if (!options.operations) return run_role(job, context, journal);
    RecordingContext recording(context, journal.operations);
    run_role(job, recording, journal);
  };
  const sim::SimulationResult result = simulate_or_clear(setting, options.fidelity, out);

  Journal merged;
  for (Journal& journal : journals) merged.append(std::move(journal));
  RunInfo info = describe_run(job, world);
  info.physics = result.physics;
  info.physics["fidelity"] = options.fidelity;
  if (native.used()) info.physics["native_all_reduce"] = native.origin();
  info.repetition = options.repetition;
  info.command = command_line();
  info.started = timestamp();
  write_results(out, info, merged, result.makespan, options.trace);
  fmt::print("{}", results_line(read_results(out)));
}

}  // namespace

void add_simulate(CLI::App& app, int&) {
  auto* command = app.add_subcommand("simulate", "Simulate an experiment on its platform");
  const auto options = std::make_shared<SimulateOptions>();
  add_experiment_options(*command, *options);
  add_resume_options(*command, *options);
  add_record_options(*command, *options);
  command
      ->add_option("--fidelity", options->fidelity,
                   "transfers: every message simulated; smpi: the ranks' own MPI code on SimGrid's MPI, as a "
                   "witness between simulation and measurement")
      ->capture_default_str()
      ->check(CLI::IsMember({"transfers", "smpi"}));
  command->footer(
      "Examples:\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --variant esync --trace\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --set workload.math=modelled --set "
      "stop.rounds=1000\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --variant ring --fidelity smpi");
  command->callback([options] { simulate_job(*options); });
}

}  // namespace tandem::cli

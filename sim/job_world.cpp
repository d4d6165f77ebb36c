#include "sim/job_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "platforms/state_profile.hpp"
#include "platforms/this_machine.hpp"
#include "platforms/unsupported.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/cost/eager_limit.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/ensemble.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/roles/run_role.hpp"
#include "workloads/timing/compute_time_sampler.hpp"
#include "workloads/timing/library_all_reduce.hpp"

namespace tandem::sim {
namespace {

/// Whether messages cost what was measured on a machine without emulated cluster.
bool is_twin(const Job& job) {
  return job.spec().experiment.physics.network != NetworkSource::platform &&
         job.devices().profile()->cluster.empty();
}

/// Where machines may depart, the steward makes workers depart as the state_file of their host says (lifetime
/// model states); SimGrid would end their actors, which stay in their slots.
void keep_hosts_up(SimulationSetting& setting, const Job& job) {
  const platforms::PlatformXml xml(setting.platform_file);
  if (platforms::lifetimes_of_states(xml).empty()) return;
  setting.platform_file = job.spec().directory + "/platform_up.xml";
  write_whole_file(setting.platform_file, platforms::without_host_states(xml, job.spec().directory));
}

/// Under physics.network "profile" messages cost what was measured: on the platform's links, if those were
/// measured on its emulated cluster; otherwise on a copy of the platform with the network of the calibrated
/// machine, which a run without emulated cluster also uses.
void set_network(SimulationSetting& setting, const Job& job) {
  const auto& experiment = job.spec().experiment;
  setting.platform_file = experiment.platform;
  setting.eager_limit = tcp_eager_limit;
  for (const auto& host : job.spec().platform.hosts)
    setting.host_kinds[host.name] = job.devices().kind_of(host);
  if (experiment.transience.may_depart()) keep_hosts_up(setting, job);
  if (experiment.physics.network == NetworkSource::platform) return;
  const Profile& profile = *job.devices().profile();
  setting.network = profile.paths;
  setting.busy_start = profile.busy_start();
  // The limit of the path that most messages take.
  setting.eager_limit = Bytes(profile.paths.back().eager_bytes);
  if (!is_twin(job)) return;
  const auto& segments = profile.paths.front().segments;
  // The links' figures only have to be positive: the segments scale them for each size.
  const platforms::MeasuredNetwork network{Seconds(std::max(1e-7, segments.front().alpha_s)),
                                           BytesPerSecond(1.0 / segments.back().beta_s)};
  setting.platform_file = job.spec().directory + "/twin.xml";
  write_whole_file(setting.platform_file, platforms::twin_xml(job.spec().platform, network));
}

/// The seed of the experiment for repetition 0, and another one for each further repetition.
std::uint64_t noise_seed_of(const Experiment& experiment, int repetition) {
  if (repetition == 0) return experiment.seed;
  return Rng::stream(experiment.seed, "repetition", static_cast<std::uint64_t>(repetition)).next();
}

/// The devices, disks and libraries of a job's ranks: how long each operation takes.
class JobTimes {
 public:
  JobTimes(const Job& job, const platforms::Network& network, int repetition)
      : job_(job),
        noise_seed_(noise_seed_of(job.spec().experiment, repetition)),
        event_seed_(seed_of_events(noise_seed_, job)),
        all_reduces_(job, network, event_seed_) {
    const int ranks = job.roster().size();
    devices_.reserve(static_cast<std::size_t>(ranks));
    for (Rank rank = 0; rank < ranks; ++rank) devices_.emplace_back(job, rank, noise_seed_);
    const auto& experiment = job.spec().experiment;
    if (draws_spread(experiment, repetition))
      for (auto& device : devices_) device.draw_spread();
    if (draws_starts(experiment, repetition))
      for (const Rank worker : job.roster().workers()) device(worker).draw_start();
  }

  /// This must outlive the simulation.
  void set_times(SimulationSetting& setting) {
    for (auto& device : devices_) setting.start_offsets.push_back(device.begin());
    if (job_.spec().experiment.physics.noise == NoiseSource::profile)
      setting.noise = {event_seed_, job_.devices().profile()->share_jitter()};
    setting.price = [this](Rank rank, const Work& work) { return device(rank).next(work); };
    setting.disk_service = [this](Rank rank, int disk) { return job_.devices().disk_service(rank, disk); };
    if (job_.devices().measured_disk() != nullptr)
      setting.disk_moving = [this](Rank rank, int disk, const DiskAccess& access, bool write) {
        return job_.devices().disk_moving(rank, disk, access, write);
      };
    setting.disk_delay = [this](Rank rank, int, const DiskAccess&) { return device(rank).disk_delay(); };
    if (ComputeTimeSampler::any_slowdown(job_))
      setting.slowdown = [this](Rank rank, const Work& work) { return device(rank).slowdown(work); };
    setting.all_reduce = [this](std::span<const Rank> members, Bytes size) {
      const auto time = all_reduces_.next(members, size);
      return AllReduceTime(time.alone, time.behind);
    };
  }

  const LibraryAllReduceCost& all_reduces() const { return all_reduces_; }

 private:
  ComputeTimeSampler& device(Rank rank) { return devices_[static_cast<std::size_t>(rank)]; }

  const Job& job_;
  std::uint64_t noise_seed_;
  std::uint64_t event_seed_;
  std::vector<ComputeTimeSampler> devices_;  ///< by rank
  LibraryAllReduceCost all_reduces_;
};

}  // namespace

void check_profile(const Job& job) {
  const auto& experiment = job.spec().experiment;
  const Profile* profile = job.devices().profile();
  if (profile == nullptr) return;
  if (experiment.physics.network == NetworkSource::platform && profile->hosts.empty()) return;
  const std::string& cluster = profile->cluster;
  if (!cluster.empty() &&
      std::filesystem::path(cluster).filename() != std::filesystem::path(experiment.platform).filename())
    throw ConfigError(fmt::format("{}: measured on the cluster of {}, not on that of {}",
                                  experiment.physics.profile, cluster, experiment.platform));
}

void check_platform(const Job& job) {
  // A twin has the hosts of the platform file, but none of its network, settings and profiles.
  if (is_twin(job)) return;
  std::vector<std::string> hosts;
  for (const RankAssignment& assignment : job.roster().assignments()) hosts.push_back(assignment.host);
  platforms::check_can_simulate(job.spec().experiment.platform, hosts);
}

JobRun simulate_job(const Job& job, const JobWorldSetting& setting) {
  JobTimes times(job, setting.network, setting.repetition);
  std::vector<Journal> journals(static_cast<std::size_t>(job.roster().size()));
  SimulationSetting world;
  for (const RankAssignment& assignment : job.roster().assignments()) world.hosts.push_back(assignment.host);
  set_network(world, job);
  times.set_times(world);
  world.stops_work = job.roster().steward().has_value();
  world.body = [&](Context& context) {
    Journal& journal = journals[static_cast<std::size_t>(context.rank())];
    journal.keep_decisions = setting.decisions;
    journal.keep_requests = setting.requests;
    if (!setting.operations) return run_role(job, context, journal);
    RecordingContext recording(context, journal.operations);
    run_role(job, recording, journal);
  };
  world.until = setting.until;
  if (setting.change) setting.change(world);

  SimulationResult result = setting.simulator(world);
  JobRun run{.journal = {},
             .makespan = result.makespan,
             .physics = std::move(result.physics),
             .warnings = std::move(result.warnings),
             .is_cut = result.is_cut};
  if (times.all_reduces().used()) run.physics["native_all_reduce"] = times.all_reduces().origin();
  const Generation* const generation = run.is_cut ? nullptr : job.generation();
  if (generation == nullptr) {
    for (Journal& own : journals) run.journal.append(std::move(own));
    return run;
  }
  JobRecords records(job, job.spec().directory);
  for (Rank rank = 0; rank < job.roster().size(); ++rank)
    records.add(rank, std::move(journals[static_cast<std::size_t>(rank)]));
  run.makespan += generation->began;
  run.journal = records.take(run.makespan, setting.decisions);
  return run;
}

}  // namespace tandem::sim

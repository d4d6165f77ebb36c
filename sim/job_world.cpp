#include "sim/job_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platforms/state_profile.hpp"
#include "platforms/this_machine.hpp"
#include "platforms/unsupported.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/cost/eager_limit.hpp"
#include "workloads/cost/network_table.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/placement/job_ranks.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/job/plan/ensemble.hpp"
#include "workloads/job/plan/job_context.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/roles/run_role.hpp"
#include "workloads/timing/compute_time_sampler.hpp"
#include "workloads/timing/library_all_reduce.hpp"

namespace tandem::sim {
namespace {

/// Whether messages have the costs that were measured on a machine without emulated cluster.
bool is_twin(const Job& job) {
  return job.spec().experiment.physics.network != NetworkSource::platform &&
         job.devices().profile()->cluster.empty();
}

/// Where machines may depart, the steward makes workers depart as the state_file of their host says (lifetime
/// model states); SimGrid would end their actors, which stay where they are.
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
  setting.busy_start = NetworkTable(profile).busy_start();
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

  ComputeTimeSampler& device(Rank rank) { return devices_[static_cast<std::size_t>(rank)]; }
  const DevicePlan& plan() const { return job_.devices(); }
  AllReduceTime all_reduce(std::span<const Rank> members, Bytes size) {
    const auto time = all_reduces_.next(members, size);
    return {time.alone, time.behind};
  }
  std::uint64_t event_seed() const { return event_seed_; }
  const LibraryAllReduceCost& all_reduces() const { return all_reduces_; }

 private:
  const Job& job_;
  std::uint64_t noise_seed_;
  std::uint64_t event_seed_;
  std::vector<ComputeTimeSampler> devices_;  ///< by rank
  LibraryAllReduceCost all_reduces_;
};

JobRanks ranks_of(std::span<const SharingJob> jobs) {
  std::vector<RankedJob> ranked;
  for (const SharingJob& sharing : jobs)
    ranked.push_back({.roster = &sharing.job->roster(),
                      .start = sharing.start,
                      .shares = sharing.job->spec().experiment.data.shared});
  return JobRanks(ranked);
}

/// The ranks of all jobs of a simulation, and how long their operations take.
class Ranks {
 public:
  /// `jobs`: must outlive this.
  Ranks(std::span<const SharingJob> jobs, int repetition) : jobs_(jobs), ranks_(ranks_of(jobs)) {
    for (const SharingJob& job : jobs)
      times_.push_back(std::make_unique<JobTimes>(*job.job, job.network, repetition));
  }

  const JobRanks& all() const { return ranks_; }
  const JobTimes& times(std::size_t job) const { return *times_[job]; }

  /// This must outlive the simulation. Jobs that share it have the same physics.
  void set_times(SimulationSetting& setting) {
    const Job& first = *jobs_.front().job;
    for (Rank rank = 0; rank < ranks_.size(); ++rank)
      setting.start_offsets.push_back(jobs_[own(rank).job].start + device(rank).begin());
    if (first.spec().experiment.physics.noise == NoiseSource::profile)
      setting.noise = {times_.front()->event_seed(), NetworkTable(*first.devices().profile()).share_jitter()};
    setting.price = [this](Rank rank, const Work& work) { return device(rank).next(work); };
    setting.has_second_queue = [this](Rank rank) { return plan(rank).has_second_queue(own(rank).rank); };
    setting.disk_service = [this](Rank rank, int disk) {
      return plan(rank).disk_service(own(rank).rank, disk);
    };
    if (std::ranges::any_of(jobs_, [](const auto& of) {
          return of.job->devices().measured_disk() != nullptr || of.job->devices().has_fitted_commits();
        }))
      setting.disk_moving = [this](Rank rank, int disk, const DiskAccess& access, bool write) {
        return plan(rank).disk_moving(own(rank).rank, disk, access, write);
      };
    setting.disk_delay = [this](Rank rank, int, const DiskAccess&) { return device(rank).disk_delay(); };
    if (std::ranges::any_of(jobs_, [](const auto& of) { return ComputeTimeSampler::any_slowdown(*of.job); }))
      setting.slowdown = [this](Rank rank, const Work& work) { return device(rank).slowdown(work); };
    setting.measures_overlap =
        !setting.slowdown && std::ranges::any_of(setting.hosts, [&, rank = 0](const auto&) mutable {
          return setting.has_second_queue(rank++);
        });
    setting.all_reduce = [this](std::span<const Rank> members, Bytes size) {
      const std::size_t job = own(members.front()).job;
      if (jobs_.size() == 1) return times_[job]->all_reduce(members, size);
      std::vector<Rank> of_job;
      for (const Rank member : members) of_job.push_back(own(member).rank);
      return times_[job]->all_reduce(of_job, size);
    };
  }

 private:
  const JobRanks::Place& own(Rank rank) const { return ranks_.own(rank); }
  ComputeTimeSampler& device(Rank rank) { return times_[own(rank).job]->device(own(rank).rank); }
  const DevicePlan& plan(Rank rank) const { return times_[own(rank).job]->plan(); }

  std::span<const SharingJob> jobs_;
  JobRanks ranks_;
  std::vector<std::unique_ptr<JobTimes>> times_;  ///< by job
};

/// The records of the ranks of each job.
using JournalsOfJobs = std::vector<std::vector<Journal>>;

JournalsOfJobs journals_for(std::span<const SharingJob> jobs, const JobWorldSetting& setting) {
  JournalsOfJobs journals;
  for (const SharingJob& sharing : jobs) {
    auto& own = journals.emplace_back(static_cast<std::size_t>(sharing.job->roster().size()));
    for (Journal& journal : own) {
      journal.keep_decisions = setting.decisions;
      journal.keep_requests = setting.requests;
    }
  }
  return journals;
}

Journal& journal_at(JournalsOfJobs& journals, const JobRanks::Place& place) {
  return journals[place.job][static_cast<std::size_t>(place.rank)];
}

std::vector<ServedJob> served_by(const JobRanks& ranks, Rank rank, std::span<const SharingJob> jobs,
                                 JournalsOfJobs& journals) {
  std::vector<ServedJob> served;
  Rank first = 0;
  for (const JobRanks::Place& place : ranks.places(rank)) {
    const Job& job = *jobs[place.job].job;
    served.push_back({.job = &job, .journal = &journal_at(journals, place), .first = first});
    first += job.roster().size();
  }
  return served;
}

void run_recorded(const Job& job, Context& context, Journal& journal, bool operations) {
  if (!operations) return run_role(job, context, journal);
  RecordingContext recording(context, journal.operations);
  run_role(job, recording, journal);
}

/// Errors of a role name the job, where there are several.
void run_named(const SharingJob& job, const std::function<void()>& role) {
  try {
    role();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("job '{}': {}", job.name, error.what()));
  } catch (const WorldError& error) {
    throw WorldError(fmt::format("job '{}': {}", job.name, error.what()));
  }
}

/// "ranks 0 to 3: job 'vision'; ...".
std::string legend(std::span<const SharingJob> jobs, const JobRanks& ranks) {
  std::string text;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<Rank> own;
    for (const Rank rank : ranks.of(i))
      if (ranks.own(rank).job == i) own.push_back(rank);
    text +=
        fmt::format("{}ranks {} to {}: job '{}'", i == 0 ? "" : "; ", own.front(), own.back(), jobs[i].name);
  }
  return text;
}

/// The hosts without a disk whose ranks commit to their disks: writing takes no time there.
nlohmann::json diskless_commits(const Job& job) {
  const CommitPlan& commits = job.checkpoints().commits;
  std::set<std::string> hosts;
  if (commits.is_enabled() && !commits.are_in_memory())
    for (Rank rank = 0; rank < job.roster().size(); ++rank)
      if (has_part_in_commits(job, rank) && !job.devices().disk_of(rank))
        hosts.insert(job.roster().host_of(rank));
  return hosts;
}

/// The job's part of a simulation. `journals`: of its ranks.
JobRun run_of(const SharingJob& sharing, std::vector<Journal> journals, Seconds makespan,
              const SimulationResult& result, const JobTimes& times, bool decisions) {
  const Job& job = *sharing.job;
  JobRun run{.journal = {},
             .makespan = makespan,
             .physics = result.physics,
             .warnings = result.warnings,
             .is_cut = result.is_cut};
  if (result.overlap > Seconds(0)) run.physics["overlap_s"] = result.overlap.count();
  if (auto hosts = diskless_commits(job); !hosts.empty())
    run.physics["commits_without_disk"] = std::move(hosts);
  if (times.all_reduces().used()) run.physics["native_all_reduce"] = times.all_reduces().origin();
  for (Journal& own : journals) own.complete();
  const Generation* const generation = run.is_cut ? nullptr : job.generation();
  if (generation == nullptr) {
    for (Journal& own : journals) run.journal.append(std::move(own));
    return run;
  }
  JobRecords records(job, job.spec().directory);
  for (Rank rank = 0; rank < job.roster().size(); ++rank)
    records.add(rank, std::move(journals[static_cast<std::size_t>(rank)]));
  run.makespan += generation->began;
  run.journal = records.take(run.makespan, decisions);
  return run;
}

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
  const SharingJob alone{.job = &job, .name = {}, .network = setting.network};
  return std::move(simulate_jobs({&alone, 1}, setting).front());
}

std::vector<JobRun> simulate_jobs(std::span<const SharingJob> jobs, const JobWorldSetting& setting) {
  TANDEM_CHECK(!jobs.empty(), "jobs", jobs.size());
  Ranks ranks(jobs, setting.repetition);
  const bool is_named = !jobs.front().name.empty();
  SimulationSetting world;
  for (Rank rank = 0; rank < ranks.all().size(); ++rank) {
    const JobRanks::Place& own = ranks.all().own(rank);
    world.hosts.push_back(jobs[own.job].job->roster().host_of(own.rank));
  }
  for (const SharingJob& sharing : jobs) world.stops_work |= sharing.job->roster().steward().has_value();
  JournalsOfJobs journals = journals_for(jobs, setting);
  set_network(world, *jobs.front().job);
  ranks.set_times(world);
  world.body = [&](Context& inner) {
    const JobRanks::Place& own = ranks.all().own(inner.rank());
    const SharingJob& sharing = jobs[own.job];
    if (!is_named) return run_recorded(*sharing.job, inner, journal_at(journals, own), setting.operations);
    JobContext context(inner, {.ranks = ranks.all().addresses(inner.rank()),
                               .rank = own.rank,
                               .size = sharing.job->roster().size(),
                               .start = sharing.start});
    run_named(sharing, [&] {
      if (!ranks.all().is_shared(inner.rank()))
        return run_recorded(*sharing.job, context, journal_at(journals, own), setting.operations);
      run_shared_role(served_by(ranks.all(), inner.rank(), jobs, journals), context, setting.operations);
    });
  };
  world.until = setting.until;
  if (setting.change) setting.change(world);

  SimulationResult result;
  try {
    result = setting.simulator(world);
  } catch (const WorldError& error) {
    if (!is_named) throw;
    throw WorldError(fmt::format("{} ({})", error.what(), legend(jobs, ranks.all())));
  }
  std::vector<JobRun> runs;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Seconds makespan = is_named ? ranks.all().end(i, result.ends) - jobs[i].start : result.makespan;
    runs.push_back(
        run_of(jobs[i], std::move(journals[i]), makespan, result, ranks.times(i), setting.decisions));
    for (const std::size_t other : ranks.all().sharing_with(i))
      runs.back().physics[shared_cache_key].push_back(jobs[other].name);
  }
  return runs;
}

}  // namespace tandem::sim

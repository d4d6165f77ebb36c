// Starts the ranks that measure, and repeats the measurement if other programs used the machine meanwhile.
#include "cli/machines/calibration_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "cli/machines/cluster_use.hpp"
#include "cli/machines/leftovers.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "platforms/topology.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/process/killed_job.hpp"
#include "validation/compare/disturbance.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/data/dataset_memory.hpp"
#include "workloads/job/plan/job_document.hpp"

namespace tandem::cli {
namespace {

using platforms::Topology;

/// Whether ranks of the job may compute on different devices of one machine.
bool has_kinds(const Job& job, const std::string& cluster) {
  return cluster.empty() && job.real_math() && job.spec().experiment.run.devices == DeviceSpeed::native;
}

constexpr int least_ranks = 2;  ///< that send each other messages

/// One for each rank of the job; at least two. One more, without a role, if none computes on the processor
/// although another job on this platform might.
int ranks_of(const Job& job, const std::string& cluster) {
  const int ranks = std::max(least_ranks, job.roster().size());
  if (!has_kinds(job, cluster)) return ranks;
  const std::string processor = DevicePlan::processor_kind;
  for (Rank rank = 0; rank < ranks; ++rank)
    if (job.devices().kind_of(rank) == processor) return ranks;
  const auto& hosts = job.spec().platform.hosts;
  const bool any =
      std::ranges::any_of(hosts, [&](const auto& h) { return job.devices().kind_of(h) == processor; });
  return any ? ranks + 1 : ranks;
}

/// For a rank without a role: the host of the last rank.
const std::string& host_of(const Job& job, Rank rank) {
  return job.roster()
      .assignments()[std::min(static_cast<std::size_t>(rank), job.roster().assignments().size() - 1)]
      .host;
}

/// The route between two ranks over the cluster's links; empty if there is none.
std::optional<Partner> partner_of(const Job& job, const Topology* topology, Rank from, Rank rank) {
  Partner partner{.rank = rank, .from = from};
  if (topology == nullptr) return partner;
  const auto path = topology->between(host_of(job, from), host_of(job, rank));
  if (!path) return std::nullopt;
  if (host_of(job, from) == host_of(job, rank)) return partner;
  partner.links = static_cast<int>(path->channels.size());
  partner.bandwidth = path->bandwidth.count();
  return partner;
}

/// One for each kind of route from rank 0 over the cluster's links, and for each pair of kinds of hosts with
/// ranks.
std::vector<Partner> partners_of(const Job& job, const std::string& cluster, int ranks) {
  std::optional<Topology> topology;
  if (!cluster.empty()) topology = platforms::load_topology(cluster);
  const auto kinds_of = [&](const Partner& partner) {
    return job.real_math()
               ? std::minmax({job.devices().kind_of(partner.from), job.devices().kind_of(partner.rank)})
               : std::pair<std::string, std::string>();
  };
  std::vector<Partner> partners;
  for (Rank from = 0; from < ranks; ++from)
    for (Rank rank = from + 1; rank < ranks; ++rank) {
      const auto partner = partner_of(job, topology ? &*topology : nullptr, from, rank);
      if (!partner) continue;
      const auto alike = [&](const Partner& known) {
        const bool same_route = known.links == partner->links && known.bandwidth == partner->bandwidth;
        return kinds_of(known) == kinds_of(*partner) && (from > 0 || same_route);
      };
      if (std::none_of(partners.begin(), partners.end(), alike)) partners.push_back(*partner);
    }
  return partners;
}

/// The ranks on other hosts that share only the link of rank 0's host with it. Judged by bandwidth: they have
/// the highest.
std::vector<Rank> sharers_of(const Job& job, const std::string& cluster) {
  if (cluster.empty()) return {};
  const platforms::Topology topology = platforms::load_topology(cluster);
  const std::string& own = job.roster().assignments().front().host;
  std::map<std::string, Rank> first_rank;
  for (Rank rank = 1; rank < job.roster().size(); ++rank)
    first_rank.try_emplace(job.roster().host_of(rank), rank);
  double best = 0.0;
  std::vector<Rank> sharers;
  for (const auto& [host, rank] : first_rank) {
    const auto path = host == own ? std::nullopt : topology.between(host, own);
    if (!path || path->bandwidth.count() < best) continue;
    if (path->bandwidth.count() > best) sharers.clear();
    best = path->bandwidth.count();
    sharers.push_back(rank);
  }
  return sharers;
}

/// With native devices, the first rank of each host other than rank 0's (on a cluster), or of each other kind
/// of host (on one machine).
std::vector<Rank> host_ranks_of(const Job& job, const std::string& cluster, int ranks) {
  if (job.spec().experiment.run.devices != DeviceSpeed::native) return {};
  const auto place_of = [&](Rank rank) {
    return cluster.empty() ? job.devices().kind_of(rank) : host_of(job, rank);
  };
  std::set<std::string> known{place_of(0)};
  std::vector<Rank> first;
  for (Rank rank = 1; rank < ranks; ++rank)
    if (known.insert(place_of(rank)).second) first.push_back(rank);
  return first;
}

/// Those of the job, if it uses the library's all-reduce, and further ones, each once, of no more ranks than
/// there are workers.
std::vector<AllReduceSeries> all_reduces_of(const Job& job, const std::vector<AllReduceSeries>& further) {
  const auto& sync = job.spec().experiment.sync;
  std::vector<AllReduceSeries> all;
  if (sync.over == sync::Route::all_reduce && sync.collective == native_all_reduce)
    all = all_reduce_series_of(job);
  for (const AllReduceSeries& series : further)
    if (series.ranks <= std::ssize(job.roster().workers()) && std::ranges::find(all, series) == all.end())
      all.push_back(series);
  return all;
}

/// Everything that the start of the ranks needs.
struct Preparation {
  std::string directory;  ///< of the job document and the ranks' files
  LaunchSetting launch;
  std::unique_ptr<ClusterUse> use;  ///< null: no cluster
  std::unique_ptr<MachineUse> machines;
  std::unique_ptr<DatasetMemory> data;  ///< of the ranks that this process starts
};

/// `starts`: this process starts the ranks; it creates the cluster if it is not up.
Preparation prepare(LoadedJob loaded, const std::string& profile_path, const CalibrationPlace& place,
                    bool starts) {
  Preparation prepared;
  prepared.machines = std::make_unique<MachineUse>(place.machines, place.cluster.empty());
  const bool is_real = prepared.machines->is_used();
  // The links of the platform file lie between the hosts of a cluster, emulated or real.
  const std::string cluster = is_real ? loaded.experiment.platform : place.cluster;
  prepared.directory = profile_path + ".work";
  if (is_real) {
    compute_natively_by_default(loaded);
    // On real machines no rank is added for processors, so this many are all.
    prepared.machines->map_hosts(loaded, least_ranks);
    prepared.directory = std::filesystem::absolute(prepared.directory).lexically_normal().string();
  }
  const Job job = make_job(loaded, prepared.directory);
  const int ranks = ranks_of(job, cluster);
  auto document = job_document(job);
  document["partners"] = to_json(partners_of(job, cluster, ranks));
  document["sharers"] = sharers_of(job, cluster);
  document["all_reduces"] = to_json(all_reduces_of(job, place.all_reduces));
  document["host_ranks"] = host_ranks_of(job, cluster, ranks);
  document["cluster"] = cluster;
  document["real_cluster"] = is_real;
  prepared.launch.ranks = ranks;
  prepared.launch.device_memory = job.devices().may_send_device_memory();
  prepared.launch.program = {sibling_program("tandem-rank"),
                             prepared.directory + "/job.json",
                             "--out",
                             prepared.directory,
                             "--calibrate",
                             is_real ? prepared.directory + "/profile.json" : profile_path,
                             "--command",
                             command_line()};
  std::vector<std::string> hosts;
  for (Rank rank = 0; rank < ranks; ++rank) hosts.push_back(host_of(job, rank));
  if (is_real) {
    prepared.machines->put_ranks(prepared.launch, job, ranks);
    if (starts) {
      prepared.machines->stage(prepared.launch);
      prepared.machines->check(prepared.launch, prepared.directory);
    }
  } else if (!cluster.empty()) {
    prepared.use = std::make_unique<ClusterUse>(cluster, starts);
    prepared.use->put_ranks(prepared.launch, hosts);
  }
  if (starts && !is_real) prepared.data = share_dataset(job.data().dataset());
  if (prepared.data)
    prepared.launch.program.insert(prepared.launch.program.end(), {"--data", prepared.data->path()});
  std::filesystem::create_directories(prepared.directory);
  std::ofstream file(prepared.directory + "/job.json");
  file << document.dump();
  if (!file.flush()) throw WorldError("cannot write into " + prepared.directory);
  file.close();
  if (is_real && starts) prepared.machines->share_document(prepared.launch, prepared.directory, nullptr);
  return prepared;
}

/// Starts the ranks once.
int measure(const LoadedJob& loaded, const std::string& profile_path, const CalibrationPlace& place) {
  remove_leftovers();
  const KilledJobGuard guard;
  Preparation prepared = prepare(loaded, profile_path, place, true);
  LaunchEvents events;
  events.error = print_line;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  prepared.launch.program.insert(prepared.launch.program.end(),
                                 {"--launched", fmt::format("{:.6f}", now.count())});
  auto guards = prepared.machines->guard(prepared.launch);
  const GuardedResult result = launch_guarded(prepared.launch, events, std::move(guards));
  if (prepared.machines->is_used()) {
    for (const auto& problem : prepared.machines->fetch_results(prepared.directory, result.lost_machine))
      print_error(problem);
    const std::string written = prepared.directory + "/profile.json";
    if (std::filesystem::exists(written)) std::filesystem::rename(written, profile_path);
  }
  std::filesystem::remove_all(prepared.directory);
  if (result.exit_code != 0) print_error(result.message);
  return result.exit_code;
}

/// Keeps the profile that other programs disturbed least.
int measure_undisturbed(const LoadedJob& loaded, const std::string& profile_path,
                        const CalibrationPlace& place) {
  constexpr int attempts = 2;
  const std::string fresh = profile_path + ".new";
  const std::string best = profile_path + ".best";
  double least = std::numeric_limits<double>::infinity();
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    if (const int exit_code = measure(loaded, fresh, place); exit_code != exit_success) {
      const bool has_profile = std::filesystem::exists(best);
      if (!has_profile || exit_code > exit_of_signal) {
        std::filesystem::remove(best);
        return exit_code;
      }
      print_warning("measuring again failed; the first profile is kept");
      break;
    }
    const double share = load_profile(fresh).other_load;
    if (share < least) std::filesystem::rename(fresh, best);
    least = std::min(least, share);
    if (share <= validation::disturbing_load) break;
    const std::string used =
        fmt::format("other programs used {:.0f} % of this machine during the calibration", share * 100);
    if (attempt < attempts)
      print_note(used + "; measuring again");
    else
      print_warning(used +
                    "; calibrate again when this machine is idle (the least disturbed profile is kept)");
  }
  std::filesystem::remove(fresh);
  std::filesystem::rename(best, profile_path);
  return exit_success;
}

}  // namespace

std::vector<AllReduceSeries> all_reduces_of(const JobOptions& options) {
  const LoadedJob loaded = load_job(options);
  return all_reduce_series_of(make_job(loaded, ""));
}

int run_calibration(const JobOptions& options, const std::string& profile_path,
                    const CalibrationPlace& place) {
  const int exit_code = measure_undisturbed(load_job(options), profile_path, place);
  if (exit_code != exit_success) return exit_code;
  // Waiting ranks sleep for up to a seventh of the time on two cores. Other programs cause more than that.
  constexpr double busy = 0.25;
  if (const double share = load_profile(profile_path).cpu_wait_share; share > busy)
    print_warning(
        fmt::format("the measuring rank waited {:.0f} % of the time for a CPU core, so times in the profile "
                    "are too long; "
                    "calibrate again when this machine is idle",
                    share * 100));
  return exit_success;
}

std::string prepare_calibration(const JobOptions& options, const std::string& profile_path,
                                const CalibrationPlace& place) {
  return print_command(prepare(load_job(options), profile_path, place, false).launch);
}

}  // namespace tandem::cli

// The ranks that measure: started, and started again when others used the machine meanwhile.
#include "cli/calibration_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cli/cluster_use.hpp"
#include "cli/commands.hpp"
#include "cli/disturbance.hpp"
#include "platforms/topology.hpp"
#include "runtime/launcher/launcher.hpp"
#include "workloads/calibration.hpp"
#include "workloads/job.hpp"
#include "workloads/profile.hpp"

namespace tandem::cli {
namespace {

/// Rank 0's partners: one for each kind of way that leads from it over the cluster's links; rank 1 without a
/// cluster.
std::vector<Partner> partners_of(const Job& job, const std::string& cluster) {
  if (cluster.empty()) return {{}};
  const platforms::Topology topology = platforms::load_topology(cluster);
  std::vector<Partner> partners;
  for (Rank rank = 1; rank < static_cast<Rank>(job.seats().size()); ++rank) {
    const auto path =
        topology.between(job.seats().front().host, job.seats()[static_cast<std::size_t>(rank)].host);
    if (!path) continue;
    const bool within = job.seats().front().host == job.seats()[static_cast<std::size_t>(rank)].host;
    const Partner partner{.rank = rank,
                          .links = within ? 0 : static_cast<int>(path->channels.size()),
                          .bandwidth = within ? 0.0 : path->bandwidth.count()};
    const auto alike = [&](const Partner& known) {
      return known.links == partner.links && known.bandwidth == partner.bandwidth;
    };
    if (std::none_of(partners.begin(), partners.end(), alike)) partners.push_back(partner);
  }
  return partners;
}

/// The ranks on other hosts that share nothing with rank 0's host but its link, as far as their bandwidth
/// tells: it is the best that any has.
std::vector<Rank> sharers_of(const Job& job, const std::string& cluster) {
  if (cluster.empty()) return {};
  const platforms::Topology topology = platforms::load_topology(cluster);
  const std::string& own = job.seats().front().host;
  std::map<std::string, Rank> first_rank;
  for (Rank rank = 1; rank < static_cast<Rank>(job.seats().size()); ++rank)
    first_rank.try_emplace(job.seats()[static_cast<std::size_t>(rank)].host, rank);
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

/// The first rank of each host but rank 0's, where the job uses the devices that the hosts really have.
std::vector<Rank> host_ranks_of(const Job& job, const std::string& cluster) {
  if (cluster.empty() || job.experiment().run.devices != "native") return {};
  std::set<std::string> known{job.seats().front().host};
  std::vector<Rank> ranks;
  for (Rank rank = 1; rank < static_cast<Rank>(job.seats().size()); ++rank)
    if (known.insert(job.seats()[static_cast<std::size_t>(rank)].host).second) ranks.push_back(rank);
  return ranks;
}

/// Starts the ranks once.
int measure(const LoadedJob& loaded, const std::string& profile_path, const std::string& cluster) {
  const std::string directory = profile_path + ".work";
  std::filesystem::create_directories(directory);
  const Job job(loaded.experiment, loaded.platform, directory, network_of_workers(loaded));
  auto document = job_document(job);
  document["partners"] = to_json(partners_of(job, cluster));
  document["sharers"] = sharers_of(job, cluster);
  document["host_ranks"] = host_ranks_of(job, cluster);
  document["cluster"] = cluster;
  std::ofstream(directory + "/job.json") << document.dump();
  LaunchSetting setting;
  setting.ranks = std::max(2, static_cast<int>(job.seats().size()));
  setting.program = {program_beside("tandem-rank"),
                     directory + "/job.json",
                     "--out",
                     directory,
                     "--calibrate",
                     profile_path,
                     "--command",
                     command_line()};
  std::optional<ClusterUse> use;
  if (!cluster.empty()) {
    std::vector<std::string> hosts;
    for (const Seat& seat : job.seats()) hosts.push_back(seat.host);
    hosts.resize(static_cast<std::size_t>(setting.ranks), hosts.back());
    use.emplace(cluster, true);
    use->put_ranks(setting, hosts);
  }
  LaunchEvents events;
  events.error = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const LaunchResult result = launch(setting, events);
  std::filesystem::remove_all(directory);
  if (result.exit_code != 0) fmt::print(stderr, "tandem: {}\n", result.message);
  return result.exit_code;
}

/// Keeps the profile that others disturbed least.
int measure_undisturbed(const LoadedJob& loaded, const std::string& profile_path,
                        const std::string& cluster) {
  constexpr int attempts = 2;
  const std::string fresh = profile_path + ".new";
  const std::string best = profile_path + ".best";
  double least = std::numeric_limits<double>::infinity();
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    if (const int exit_code = measure(loaded, fresh, cluster); exit_code != exit_fine) {
      std::filesystem::remove(best);
      return exit_code;
    }
    const double share = load_profile(fresh).other_load;
    if (share < least) std::filesystem::rename(fresh, best);
    least = std::min(least, share);
    if (share <= disturbing_load) break;
    fmt::print(stderr, "tandem: {}other programs had {:.0f} % of this machine during the calibration{}\n",
               attempt < attempts ? "" : "warning: ", share * 100,
               attempt < attempts ? "; measuring again"
                                  : "; calibrate again when it is quiet (the least disturbed one is kept)");
  }
  std::filesystem::remove(fresh);
  std::filesystem::rename(best, profile_path);
  return exit_fine;
}

}  // namespace

int run_calibration(const JobOptions& options, const std::string& profile_path, const std::string& cluster) {
  const int exit_code = measure_undisturbed(load_job(options), profile_path, cluster);
  if (exit_code != exit_fine) return exit_code;
  // The naps of ranks that wait take up to a seventh on two cores; the rest is other people's work.
  constexpr double busy = 0.25;
  if (const double share = load_profile(profile_path).core_wait_share; share > busy)
    fmt::print(
        stderr,
        "tandem: warning: the measuring rank waited {:.0f} % of the time for a core, so the profile is too "
        "slow; calibrate again when this machine is quiet\n",
        share * 100);
  return exit_fine;
}

}  // namespace tandem::cli

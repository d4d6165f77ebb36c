#include "runtime/cluster/cluster.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "runtime/cluster/probe.hpp"
#include "runtime/cluster/script.hpp"
#include "runtime/cluster/system.hpp"
#include "runtime/process/process_list.hpp"
#include "runtime/process/signals.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::cluster {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path clusters_folder = "/run/tandem/clusters";
constexpr int state_version = 1;

fs::path folder_of(const std::string& id) { return clusters_folder / id; }
std::string spaces_of(const std::string& id) { return namespace_of(id, ""); }

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw WorldError("cannot write " + path.string());
}

void run_or_throw(const std::vector<std::string>& words, const std::string& input = {}) {
  const auto outcome = run_command(words, input);
  if (outcome.exit_code != 0)
    throw WorldError(fmt::format("{} {} failed: {}", words[0], words[1], outcome.output));
}

void throw_if_interrupted(const BlockedSignals& signals) {
  if (signals.any_pending()) throw WorldError("interrupted; the partly created cluster was removed");
}

void write_sysctls(const std::vector<Sysctl>& sysctls) {
  for (const auto& [path, values] : sysctls) {
    const fs::path file = fs::path("/proc/sys/net") / path;
    if (!fs::exists(file)) continue;  // for example on a kernel without IPv6
    const bool taken = std::any_of(values.begin(), values.end(), [&](const auto& value) {
      std::ofstream stream(file);
      stream << value << std::flush;
      return static_cast<bool>(stream);
    });
    if (!taken) throw WorldError(fmt::format("cannot set {} to {}", file.string(), values.front()));
  }
}

/// `owner`: identity of the process that has to remove the cluster; empty: none.
json state_of(const Cluster& cluster, bool ready, const std::string& owner) {
  json hosts = json::array();
  for (const auto& host : cluster.plan().hosts)
    hosts.push_back({{"name", host.name},
                     {"address", host.address},
                     {"namespace", namespace_of(cluster.id, host.alias)}});
  return {{"version", state_version},
          {"id", cluster.id},
          {"platform", cluster.platform},
          {"ready", ready},
          {"owner", owner},
          {"latency", cluster.delays ? "netem" : "kernel"},
          {"hosts", hosts},
          {"wiring", to_json(cluster.wiring)}};
}

void write_state(const Cluster& cluster, bool ready, const std::string& owner) {
  write_own_file((folder_of(cluster.id) / "cluster.json").string(),
                 state_of(cluster, ready, owner).dump(1) + '\n');
}

void fill_folder(const Cluster& cluster, const Plan& plan) {
  const fs::path folder = folder_of(cluster.id);
  write_state(cluster, false, process_identity(getpid()));
  write_file(folder / "hosts", hosts_file(plan));
  write_file(folder / "enter", enter_script(cluster.id, (folder / "hosts").string()));
  write_file(folder / "agent", agent_script((folder / "enter").string()));
}

void make_devices(const Plan& plan, const BlockedSignals& signals) {
  const std::string fabric = namespace_of(plan.id, fabric_name);
  std::string spaces = fmt::format("netns add {}\n", fabric);
  for (const auto& host : plan.hosts)
    spaces += fmt::format("netns add {}\n", namespace_of(plan.id, host.alias));
  run_or_throw({"ip", "-batch", "-"}, spaces);
  // Before any device exists: devices copy these defaults when they are created.
  inside_namespace(fabric, [] { write_sysctls(fabric_sysctls()); });
  for (const auto& host : plan.hosts)
    inside_namespace(namespace_of(plan.id, host.alias), [&] { write_sysctls(host_sysctls(plan)); });
  throw_if_interrupted(signals);
  run_or_throw({"ip", "-netns", fabric, "-batch", "-"}, fabric_devices(plan));
  throw_if_interrupted(signals);
  for (const auto& host : plan.hosts)
    run_or_throw({"ip", "-netns", namespace_of(plan.id, host.alias), "-batch", "-"}, host_devices(host));
  throw_if_interrupted(signals);
  run_or_throw({"tc", "-netns", fabric, "-batch", "-"}, shaping(plan));
  throw_if_interrupted(signals);
}

bool remove_all_of(const std::string& id) {
  const auto spaces = network_namespaces(spaces_of(id));
  for (const auto& space : spaces) kill_processes_in(space);
  std::string words;
  for (const auto& space : spaces) words += fmt::format("netns delete {}\n", space);
  if (!spaces.empty()) run_or_throw({"ip", "-force", "-batch", "-"}, words);
  std::error_code error;
  const bool had_folder = fs::remove_all(folder_of(id), error) > 0;
  if (error) throw WorldError(fmt::format("cannot remove {}: {}", folder_of(id).string(), error.message()));
  return had_folder || !spaces.empty();
}

std::set<std::string> known_ids() {
  std::set<std::string> ids;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(clusters_folder, missing))
    ids.insert(entry.path().filename());
  const std::string prefix = "tandem.";
  for (const auto& space : network_namespaces(prefix))
    ids.insert(space.substr(prefix.size(), space.find('.', prefix.size()) - prefix.size()));
  return ids;
}

ClusterStatus status_of(const std::string& id) {
  ClusterStatus status{id, find_cluster(id), {}, false};
  const auto spaces = network_namespaces(spaces_of(id));
  const auto add = [&](const std::string& name, const std::string& address, const std::string& space) {
    const bool present = std::find(spaces.begin(), spaces.end(), space) != spaces.end();
    status.hosts.push_back({name, address, space, present, processes_in(space)});
  };
  if (status.cluster) {
    const Plan plan = status.cluster->plan();
    for (const auto& host : plan.hosts) add(host.name, host.address, namespace_of(id, host.alias));
    add(fabric_name, "", namespace_of(id, fabric_name));
  } else {
    for (const auto& space : spaces) add(space.substr(spaces_of(id).size()), "", space);
  }
  status.whole =
      status.cluster && spaces.size() == status.hosts.size() &&
      std::all_of(status.hosts.begin(), status.hosts.end(), [](const auto& host) { return host.present; });
  return status;
}

}  // namespace

ClusterLaunch Cluster::launch() const {
  std::vector<std::string> namespaces;
  for (const auto& host : plan().hosts) namespaces.push_back(namespace_of(id, host.alias));
  return {.enter = (folder_of(id) / "enter").string(),
          .agent = (folder_of(id) / "agent").string(),
          .head = fabric_name,
          .data_network = data_network,
          .control_network = control_network,
          .namespaces = std::move(namespaces)};
}

Cluster bring_up(const std::string& id, const std::string& platform, const Wiring& wiring, bool replace,
                 bool temporary) {
  const Ability ability = require_ability();
  const Cluster cluster{id, fs::absolute(platform).lexically_normal().string(), wiring, ability.delays};
  const Plan plan = cluster.plan();
  if (known_ids().contains(id)) {
    const bool left_over = !find_cluster(id);
    if (!replace)
      throw ConfigError(
          fmt::format("cluster '{}' {}; --force replaces it, `tandem cluster down {}` removes it", id,
                      left_over ? "is incomplete, left over from a crash" : "is already up", id));
    remove_all_of(id);
  }
  const BlockedSignals signals(ending_signals);
  // If two processes create the same cluster concurrently, only one of them creates the folder.
  fs::create_directories(clusters_folder);
  if (!fs::create_directory(folder_of(id)))
    throw ConfigError(fmt::format("cluster '{}' is already being created", id));
  try {
    fill_folder(cluster, plan);
    make_devices(plan, signals);
    write_state(cluster, true, temporary ? process_identity(getpid()) : "");
  } catch (const std::exception& error) {
    remove_all_of(id);
    throw WorldError(fmt::format("cluster '{}' cannot be created: {}", id, error.what()));
  }
  return cluster;
}

bool take_down(const std::string& id) {
  require_rights();
  const BlockedSignals signals(ending_signals);
  return remove_all_of(id);
}

std::optional<Cluster> find_cluster(const std::string& id) {
  const fs::path path = folder_of(id) / "cluster.json";
  std::ifstream file(path);
  if (!file) return std::nullopt;
  try {
    const json state = json::parse(file);
    if (state.at("version").get<int>() != state_version || !state.at("ready").get<bool>())
      return std::nullopt;
    return Cluster{state.at("id").get<std::string>(), state.at("platform").get<std::string>(),
                   wiring_from_json(state.at("wiring")), state.at("latency").get<std::string>() == "netem"};
  } catch (const json::exception&) {
    // Incomplete after a crash: the rest of the cluster can still be removed.
    return std::nullopt;
  }
}

std::vector<ClusterStatus> cluster_statuses() {
  std::vector<ClusterStatus> statuses;
  for (const auto& id : known_ids()) statuses.push_back(status_of(id));
  return statuses;
}

std::vector<std::string> abandoned_clusters() {
  std::vector<std::string> abandoned;
  for (const auto& id : known_ids()) {
    std::ifstream file(folder_of(id) / "cluster.json");
    const json state = json::parse(file, nullptr, false);
    const std::string owner = state.is_object() ? state.value("owner", "") : "";
    if (!owner.empty() && process_identity(std::atoi(owner.c_str())) != owner) abandoned.push_back(id);
  }
  return abandoned;
}

ClusterLock::ClusterLock(const std::string& id)
    : descriptor_(open(folder_of(id).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw ConfigError(fmt::format("cluster '{}' is not up", id));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  close(descriptor_);
  throw ConfigError(fmt::format("cluster '{}' is in use by another job", id));
}

ClusterLock::~ClusterLock() { close(descriptor_); }

}  // namespace tandem::cluster

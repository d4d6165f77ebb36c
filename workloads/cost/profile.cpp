#include "workloads/cost/profile.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "workloads/cost/disk_queue.hpp"
#include "workloads/experiment/json_file.hpp"

namespace tandem {

// Found by the macros below through the argument's namespace.
static void to_json(nlohmann::json& json, Work::Kind kind) { json = name_of(kind); }
static void from_json(const nlohmann::json& json, Work::Kind& kind) {
  const auto name = json.get<std::string>();
  const auto found = std::find(work_names.begin(), work_names.end(), name);
  if (found == work_names.end()) throw ConfigError("profile: unknown kind of work '" + name + "'");
  kind = static_cast<Work::Kind>(found - work_names.begin());
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::ComputeEntry, model, kind, bucket, samples, bytes, median_s,
                                   spread, raw_s, first_s, disturbed_raw_s, stored)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::HostEntry::OfWork, work, ratio, first_ratio)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::HostEntry, host, kind, ratio, spread, raw_s, works)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::StartOffsets, model, raw_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::MessageEntry, bytes, median_s, spread, raw_s, send_s, send_raw_s,
                                   sent_s, sent_raw_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::NetworkSegment, from_bytes, alpha_s, beta_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::Path, from, to, from_kind, to_kind, links, bandwidth, eager_bytes,
                                   held_bytes, messages, segments)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::NodeRoute, up_to_bytes, by)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::AllReduceEntry, ranks, bytes, median_s, spread, raw_s, behind_s,
                                   at_once_raw_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::CopyEntry, bytes, out, median_s, spread, raw_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::StorageEntry, bytes, write, median_s, spread, raw_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::DiskEntry::Reads, bytes, depth, per_second, spread)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::DiskEntry, cold, latency_s, parallel, read_rate, write_rate,
                                   reads)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile::OffsetEntry, bytes, out, transfers, alone_s, start_s, ends_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile, machine, software, date, command, cpu_wait_share, other_load,
                                   launch_s, compute, disturbing_bytes, hosts, start_offsets, paths,
                                   node_routes, all_reduces, cluster, machines, storage, lateness_s,
                                   share_jitter_bytes, offsets, device, copies, disks)

Seconds Profile::draw_lateness(Rng& random) const {
  return Seconds(lateness_s.empty() ? 0.0 : lateness_s[random.below(lateness_s.size())]);
}

double Profile::HostEntry::ratio_of(Work::Kind work) const {
  const auto found = std::ranges::find(works, work, &OfWork::work);
  return found == works.end() ? ratio : found->ratio;
}

double Profile::HostEntry::first_ratio_of(Work::Kind work) const {
  const auto found = std::ranges::find(works, work, &OfWork::work);
  return found == works.end() ? ratio : found->first_ratio;
}

bool Profile::Path::is_between(const std::string& one, const std::string& other) const {
  return (from_kind == one && to_kind == other) || (from_kind == other && to_kind == one);
}

const Profile::HostEntry* Profile::host_entry(const std::string& host, const std::string& kind) const {
  const HostEntry* of_kind = nullptr;
  for (const HostEntry& entry : hosts) {
    if (!entry.kind.empty() && entry.kind != kind) continue;
    if (entry.host == host) return &entry;
    if (of_kind == nullptr && !kind.empty() && entry.kind == kind) of_kind = &entry;
  }
  return of_kind;
}

Seconds Profile::begin(const std::string& model, Rng* random) const {
  if (start_offsets.raw_s.empty() || start_offsets.model != model) return Seconds(0);
  if (random == nullptr) return Seconds(quantile(start_offsets.raw_s, 0.5));
  return Seconds(start_offsets.raw_s[random->below(start_offsets.raw_s.size())]);
}

const Profile::DiskEntry* Profile::disk(bool cold) const {
  const auto found = std::ranges::find(disks, cold, &DiskEntry::cold);
  if (found != disks.end()) return &*found;
  return disks.empty() ? nullptr : &disks.front();
}

nlohmann::json to_json(const Profile& profile) {
  nlohmann::json json = profile;
  json["schema_version"] = Profile::schema_version;
  return json;
}

namespace {

/// One element in each list, so that the structure of every element is known.
nlohmann::json example_profile() {
  Profile example;
  example.compute.resize(1);
  example.hosts.resize(1);
  example.hosts.front().works.resize(1);
  example.paths.resize(1);
  example.paths.front().messages.resize(1);
  example.paths.front().segments.resize(1);
  example.node_routes.resize(1);
  example.all_reduces.resize(1);
  example.storage.resize(1);
  example.copies.resize(1);
  example.disks.resize(1);
  example.disks.front().reads.resize(1);
  return to_json(example);
}

void expect_version(const nlohmann::json& json) {
  const int version = json.at("schema_version");
  if (version == Profile::schema_version) return;
  throw ConfigError(fmt::format("profile has schema version {}, expected {}; run `tandem calibrate` again",
                                version, Profile::schema_version));
}

}  // namespace

Profile profile_from_json(const nlohmann::json& json) {
  try {
    expect_version(json);
    Profile profile = json.get<Profile>();
    const auto measured = [](const Profile::Path& path) { return !path.segments.empty(); };
    const bool has_tables = profile.has_tables_alone() && !profile.all_reduces.empty();
    if (!has_tables &&
        (profile.paths.empty() || !std::all_of(profile.paths.begin(), profile.paths.end(), measured)))
      throw ConfigError("the calibration profile has no message times; run `tandem calibrate` again");
    for (const auto& disk : profile.disks)
      if (!(disk.latency_s >= 0.0 && disk.parallel >= 1 && disk.parallel <= DiskService::most_parallel &&
            disk.read_rate > 0.0 && disk.write_rate > 0.0))
        throw ConfigError(fmt::format(
            "the calibration profile has a disk with latency_s {}, parallel {}, read_rate {}, write_rate {}; "
            "expected "
            "a latency >= 0, 1 to {} parallel requests and rates > 0; run `tandem calibrate` again",
            disk.latency_s, disk.parallel, disk.read_rate, disk.write_rate, DiskService::most_parallel));
    return profile;
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(std::string("not a calibration profile: ") + error.what());
  }
}

Profile load_profile(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw ConfigError("calibration profile " + path + " not found; make one with `tandem calibrate`");
  file.close();
  const JsonFile json(path, "a calibration profile");
  // Another version has another structure.
  if (json.document().is_object() &&
      json.document().value("schema_version", nlohmann::json()) == Profile::schema_version)
    json.expect_like(example_profile());
  try {
    return profile_from_json(json.document());
  } catch (const ConfigError& error) {
    throw ConfigError(path + ": " + error.what());
  }
}

void save_profile(const std::string& path, const Profile& profile) {
  std::ofstream file(path);
  file << to_json(profile).dump(1) << '\n';
  if (!file.flush()) throw WorldError("cannot write the calibration profile " + path);
}

std::string this_machine() {
  std::string processor = "unknown processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) {
      processor = line.substr(line.find(':') + 2);
      break;
    }
  utsname system{};
  uname(&system);
  return fmt::format("{}, {} cores, {} {}", processor, std::thread::hardware_concurrency(), system.sysname,
                     system.machine);
}

std::string this_software() { return "tandem " TANDEM_VERSION; }

}  // namespace tandem

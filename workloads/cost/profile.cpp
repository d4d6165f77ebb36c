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

namespace {

/// Size of a piece of work as its price depends on it.
std::int64_t extent(Work::Kind kind, std::int64_t samples, std::int64_t bytes) {
  using Kind = Work::Kind;
  const bool streams = kind == Kind::update || kind == Kind::reduce;
  return streams || kind == Kind::compress || kind == Kind::decompress ? bytes : samples;
}

/// A measurement without a bucket is used for every bucket.
bool is_of(const Profile::ComputeEntry& entry, const std::string& model, const Work& work) {
  return entry.model == model && entry.kind == work.kind && (entry.bucket < 0 || entry.bucket == work.bucket);
}

using AllReduceEntry = Profile::AllReduceEntry;

/// Time among exactly this number of ranks; nothing if it was not measured.
std::optional<double> all_reduce_s(const std::vector<AllReduceEntry>& all, double AllReduceEntry::*what,
                                   int ranks, double bytes) {
  std::vector<const AllReduceEntry*> entries;
  for (const auto& entry : all)
    if (entry.ranks == ranks) entries.push_back(&entry);
  if (entries.empty()) return std::nullopt;
  const auto size_of = [](const auto* entry) { return static_cast<double>(entry->bytes); };
  if (bytes <= size_of(entries.front())) return entries.front()->*what;
  if (entries.size() == 1) return entries.front()->*what * bytes / size_of(entries.front());
  auto above = entries.begin() + 1;
  while (above + 1 != entries.end() && size_of(*above) < bytes) ++above;
  const auto* low = *(above - 1);
  const auto* high = *above;
  const double slope = (high->*what - low->*what) / (size_of(high) - size_of(low));
  // Beyond the largest measured size, the time is at least that of the largest.
  if (bytes > size_of(high)) return high->*what + std::max(0.0, slope) * (bytes - size_of(high));
  return low->*what + slope * (bytes - size_of(low));
}

}  // namespace

std::pair<const Profile::ComputeEntry*, const Profile::ComputeEntry*> Profile::around(
    const std::string& model, const Work& work) const {
  const std::int64_t wanted = extent(work.kind, work.samples, work.bytes.count());
  const ComputeEntry* below = nullptr;
  const ComputeEntry* above = nullptr;
  for (const ComputeEntry& entry : compute) {
    if (!is_of(entry, model, work)) continue;
    const std::int64_t size = extent(entry.kind, entry.samples, entry.bytes);
    if (size <= wanted && (below == nullptr || size > extent(below->kind, below->samples, below->bytes)))
      below = &entry;
    if (size >= wanted && (above == nullptr || size < extent(above->kind, above->samples, above->bytes)))
      above = &entry;
  }
  return {below, above};
}

double Profile::draw_variation(const std::string& model, const Work& work, Rng& random) const {
  const auto [below, above] = around(model, work);
  const ComputeEntry* const nearest = below != nullptr ? below : above;
  if (nearest == nullptr || nearest->raw_s.empty() || nearest->median_s <= 0.0) return 1.0;
  return nearest->raw_s[random.below(nearest->raw_s.size())] / nearest->median_s;
}

Seconds Profile::draw_lateness(Rng& random) const {
  return Seconds(lateness_s.empty() ? 0.0 : lateness_s[random.below(lateness_s.size())]);
}

namespace {

/// By how much the ends of two transfers that start one after the other are further apart than their starts,
/// in bytes of the link, of each measured pair.
std::vector<std::pair<double, double>> gains_of(const std::vector<Profile::OffsetEntry>& offsets) {
  std::vector<std::pair<double, double>> gains;
  for (const auto& entry : offsets) {
    if (entry.transfers != 2 || entry.start_s <= 0.0) continue;
    const double rate = static_cast<double>(entry.bytes) / entry.alone_s;
    for (const auto& ends_s : entry.ends_s)
      gains.emplace_back(ends_s.at(1) - ends_s.at(0) - entry.start_s, rate);
  }
  return gains;
}

}  // namespace

Seconds Profile::busy_start() const {
  std::vector<double> seconds;
  for (const auto& [gain_s, rate] : gains_of(offsets)) seconds.push_back(gain_s);
  return Seconds(seconds.empty() ? 0.0 : std::max(0.0, quantile(seconds, 0.5)));
}

double Profile::share_jitter() const {
  std::vector<double> bytes;
  for (const auto& entry : offsets) {
    if (entry.transfers != 2 || entry.start_s <= 0.0) continue;
    std::vector<double> own;
    for (const auto& [gain_s, rate] : gains_of({entry})) own.push_back(gain_s * rate);
    const double middle = quantile(own, 0.5);
    for (const double gain : own) bytes.push_back(gain - middle);
  }
  if (bytes.empty()) return share_jitter_bytes;
  // A stall of the machine in one repetition does not change quartiles. Each of two ends varies.
  constexpr double quartiles_of_normal = 1.349;
  return (quantile(bytes, 0.75) - quantile(bytes, 0.25)) / quartiles_of_normal / std::sqrt(2.0);
}

std::optional<double> Profile::older_rate() const {
  std::vector<double> rates;
  for (const auto& entry : offsets) {
    if (entry.transfers != 2 || entry.start_s <= 0.0) continue;
    for (const auto& ends_s : entry.ends_s) {
      // Both together move two transfers by the last end. The older one has sent start_s of its own before
      // the newer one starts.
      const double own_s = ends_s.at(1) / 2;
      const double shared_s = ends_s.at(0) - entry.start_s;
      const double share = std::clamp((own_s - entry.start_s) / shared_s, 0.0, 0.999);
      if (shared_s > 0.0) rates.push_back(share / (1 - share));
    }
  }
  if (rates.empty()) return std::nullopt;
  return quantile(rates, 0.5);
}

double Profile::slowdown(const std::string& model, Work::Kind kind) const {
  double alone_s = 0.0;
  double disturbed_s = 0.0;
  for (const ComputeEntry& entry : compute) {
    if (entry.model != model || entry.kind != kind || entry.disturbed_raw_s.empty()) continue;
    alone_s += entry.median_s;
    disturbed_s += quantile(entry.disturbed_raw_s, 0.5);
  }
  return alone_s > 0.0 ? std::max(1.0, disturbed_s / alone_s) : 1.0;
}

Seconds Profile::first_extra(const std::string& model, const Work& work) const {
  double extra_s = 0.0;
  // For a kind that was measured in several sizes, the first execution is split over them.
  for (const ComputeEntry& entry : compute)
    if (is_of(entry, model, work)) extra_s += std::max(0.0, entry.first_s - entry.median_s);
  return Seconds(extra_s);
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

bool Profile::has_all_reduces(int ranks) const { return nearest_all_reduce_ranks(ranks) == ranks; }

int Profile::nearest_all_reduce_ranks(int ranks) const {
  int nearest = 0;
  for (const auto& entry : all_reduces)
    if (nearest == 0 || std::abs(entry.ranks - ranks) < std::abs(nearest - ranks)) nearest = entry.ranks;
  return nearest;
}

std::optional<Seconds> Profile::all_reduce(int ranks, Bytes size) const {
  return all_reduce(&AllReduceEntry::median_s, ranks, size);
}

std::optional<Seconds> Profile::all_reduce_behind(int ranks, Bytes size) const {
  return all_reduce(&AllReduceEntry::behind_s, ranks, size);
}

std::optional<Seconds> Profile::all_reduce(double AllReduceEntry::*what, int ranks, Bytes size) const {
  const AllReduceEntry* fewer = nullptr;
  const AllReduceEntry* more = nullptr;
  for (const auto& entry : all_reduces) {
    if (entry.ranks <= ranks && (fewer == nullptr || entry.ranks > fewer->ranks)) fewer = &entry;
    if (entry.ranks >= ranks && (more == nullptr || entry.ranks < more->ranks)) more = &entry;
  }
  if (fewer == nullptr || more == nullptr) return std::nullopt;
  const auto bytes = static_cast<double>(size.count());
  const double low_s = *all_reduce_s(all_reduces, what, fewer->ranks, bytes);
  if (more->ranks == fewer->ranks) return Seconds(low_s);
  const double share = static_cast<double>(ranks - fewer->ranks) / (more->ranks - fewer->ranks);
  return Seconds(low_s + share * (*all_reduce_s(all_reduces, what, more->ranks, bytes) - low_s));
}

double Profile::draw_all_reduce_variation(int ranks, Bytes size, Rng& random) const {
  const AllReduceEntry* nearest = nullptr;
  for (const auto& entry : all_reduces)
    if (nearest == nullptr || (entry.ranks <= ranks && entry.bytes <= size.count())) nearest = &entry;
  if (nearest == nullptr || nearest->raw_s.empty() || nearest->median_s <= 0.0) return 1.0;
  return nearest->raw_s[random.below(nearest->raw_s.size())] / nearest->median_s;
}

std::optional<Seconds> Profile::decoding_price(const std::string& model, const Work& work) const {
  // Per sample: the time as a line over the stored size, by least squares; its start is what pixels cost.
  double count = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (const ComputeEntry& entry : compute) {
    if (!is_of(entry, model, work) || entry.stored == 0 || entry.samples == 0) continue;
    const double x = static_cast<double>(entry.stored) / entry.samples;
    const double y = entry.median_s / entry.samples;
    count += 1;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  if (count == 0) return std::nullopt;
  const double square = count * sum_xx - sum_x * sum_x;
  const bool has_sizes = square > 1e-9 * count * sum_xx;
  const double per_byte =
      has_sizes ? std::clamp((count * sum_xy - sum_x * sum_y) / square, 0.0, sum_y / sum_x) : 0.0;
  const double per_sample = (sum_y - per_byte * sum_x) / count;
  return Seconds(per_sample * work.samples + per_byte * static_cast<double>(work.stored.count()));
}

std::optional<Seconds> Profile::price(const std::string& model, const Work& work) const {
  if (work.stored > Bytes(0))
    if (const auto images = decoding_price(model, work)) return images;
  const std::int64_t wanted = extent(work.kind, work.samples, work.bytes.count());
  const auto [below, above] = around(model, work);
  if (below == nullptr && above == nullptr) return std::nullopt;
  // Outside the measured range, time is assumed to be proportional to size.
  if (below == nullptr || above == nullptr) {
    const ComputeEntry& nearest = below != nullptr ? *below : *above;
    const auto size = static_cast<double>(extent(nearest.kind, nearest.samples, nearest.bytes));
    return Seconds(nearest.median_s * static_cast<double>(wanted) / size);
  }
  const auto low = static_cast<double>(extent(below->kind, below->samples, below->bytes));
  const auto high = static_cast<double>(extent(above->kind, above->samples, above->bytes));
  if (high == low) return Seconds(below->median_s);
  const double share = (static_cast<double>(wanted) - low) / (high - low);
  return Seconds(below->median_s + share * (above->median_s - below->median_s));
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

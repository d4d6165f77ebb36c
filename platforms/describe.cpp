#include "platforms/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "platforms/name_ranges.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::platforms {
namespace {

constexpr std::size_t kMostRows = 10;

/// 125000000, "B/s" -> "125 MB/s".
std::string with_prefix(double value, const char* unit) {
  if (std::isinf(value)) return "unlimited";
  if (value == 0.0) return fmt::format("0 {}", unit);
  static constexpr std::array prefixes{"n", "u", "m", "", "k", "M", "G", "T", "P"};
  constexpr int unity = 3;
  // Rounded to four digits first, so that 999,999 is 1 M and not 1000 k.
  const double magnitude = std::floor(std::log10(value) + 1e-4 / std::log(10.0));
  const int step = std::clamp(static_cast<int>(std::floor(magnitude / 3.0)), -unity,
                              static_cast<int>(prefixes.size()) - 1 - unity);
  return fmt::format("{:.4g} {}{}", value / std::pow(1000.0, step),
                     prefixes[static_cast<std::size_t>(step + unity)], unit);
}

std::string text(FlopsPerSecond speed) { return with_prefix(speed.count(), "flop/s"); }
std::string text(BytesPerSecond rate) { return with_prefix(rate.count(), "B/s"); }
/// In fp32, if the device has several speeds.
std::string sustained_text(const Device& device) {
  const std::string precision = device.precision_of_speed_for(Precision::fp32);
  return text(device.speed) + (precision.empty() ? "" : " in " + precision);
}
std::string text(Seconds time) { return with_prefix(time.count(), "s"); }

/// With the size, if the catalogue's counts.
std::string memory_text(const Host& host) {
  const Device& device = host.device;
  const bool is_stated = host.properties.contains(device.is_gpu ? "tandem:device_memory" : "memory");
  const std::string rate = text(device.memory_rate);
  if (!device.memory || is_stated) return rate;
  return with_prefix(static_cast<double>(device.memory->count()), "B") + ", " + rate;
}

/// Columns as wide as their widest cell; the first row is the heading. Rows beyond the limit are counted, not
/// shown.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  const std::size_t shown = std::min(rows.size(), kMostRows + 1);
  for (std::size_t r = 0; r < shown; ++r)
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], rows[r][c].size());
  std::string out;
  for (std::size_t r = 0; r < shown; ++r) {
    std::string line = " ";
    for (std::size_t c = 0; c < widths.size(); ++c) line += fmt::format(" {:<{}} ", rows[r][c], widths[c]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  if (rows.size() > shown) out += fmt::format("  ... and {} more kinds\n", rows.size() - shown);
  return out;
}

/// Groups keep the order of their first members.
template <class Key>
class Groups {
 public:
  void add(const Key& key, const std::string& member) {
    const auto [found, fresh] = index_.try_emplace(key, groups_.size());
    if (fresh) groups_.push_back({key, {}});
    last_ = found->second;
    add_to_last(member);
  }
  /// To the group of the member before: the key of many equal members is made once.
  void add_to_last(const std::string& member) { groups_[last_].second.push_back(member); }
  const std::vector<std::pair<Key, std::vector<std::string>>>& all() const { return groups_; }

 private:
  std::map<Key, std::size_t> index_;
  std::size_t last_ = 0;
  std::vector<std::pair<Key, std::vector<std::string>>> groups_;
};

std::string disks_text(const Host& host) {
  std::string out;
  for (const auto& disk : host.disks)
    out += fmt::format("{}{} (read {}, write {})", out.empty() ? "" : ", ", disk.name, text(disk.read_rate),
                       text(disk.write_rate));
  return out.empty() ? "-" : out;
}

std::string properties_text(const Host& host) {
  std::string out;
  for (const auto& [name, value] : host.properties)
    if (name != "device") out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, value);
  return out.empty() ? "-" : out;
}

std::string hosts_text(const Description& description) {
  Groups<std::vector<std::string>> groups;
  const Host* last = nullptr;
  for (const auto& host : description.hosts) {
    if (last != nullptr && platforms::alike(*last, host)) {
      groups.add_to_last(host.name);
      continue;
    }
    last = &host;
    groups.add(
        {fmt::format("{} x {}", host.cores, text(host.speed)), host.device.name, sustained_text(host.device),
         memory_text(host), text(host.device.launch), disks_text(host), properties_text(host)},
        host.name);
  }
  std::vector<std::vector<std::string>> rows{
      {"count", "host", "cores", "device", "sustained", "memory", "launch", "disks", "properties"}};
  for (const auto& [cells, names] : groups.all()) {
    std::vector<std::string> row{std::to_string(names.size()), name_ranges(names)};
    row.insert(row.end(), cells.begin(), cells.end());
    rows.push_back(row);
  }
  return counted(description.hosts.size(), "host") + '\n' + table(rows);
}

std::string links_text(const Description& description) {
  if (description.links.empty()) return "no links\n";
  Groups<std::tuple<std::string, std::string, std::string>> groups;
  const Link* last = nullptr;
  for (const auto& link : description.links) {
    if (last != nullptr && platforms::alike(*last, link))
      groups.add_to_last(link.name);
    else
      groups.add({text(link.bandwidth), text(link.latency), link.sharing}, link.name);
    last = &link;
  }
  std::vector<std::vector<std::string>> rows{{"count", "link", "bandwidth", "latency", "sharing"}};
  for (const auto& [kind, names] : groups.all())
    rows.push_back({std::to_string(names.size()), name_ranges(names), std::get<0>(kind), std::get<1>(kind),
                    std::get<2>(kind)});
  return counted(description.links.size(), "link") + '\n' + table(rows);
}

struct PairKind {
  std::size_t count = 0;
  std::string example;
};

std::string pairs_text(const Topology& topology, std::size_t n) {
  // Narrowest first: the bottleneck of a job is on top.
  std::map<std::tuple<bool, double, double>, PairKind> kinds;
  for (const auto& [pair, route] : topology.routes()) {
    if (pair.first == pair.second) continue;
    const auto& from = topology.hosts()[static_cast<std::size_t>(pair.first)];
    const auto& to = topology.hosts()[static_cast<std::size_t>(pair.second)];
    const auto path = topology.between(from, to);
    // Latencies are sums in different orders, so they are compared as printed.
    const auto round = [](double value) { return std::stod(fmt::format("{:.4g}", value)); };
    auto& kind = path ? kinds[{true, round(path->bandwidth.count()), round(path->latency.count())}]
                      : kinds[{false, 0.0, 0.0}];
    if (kind.count++ == 0) kind.example = from + " -> " + to;
  }
  if (kinds.empty()) return {};
  std::vector<std::vector<std::string>> rows{{"pairs", "bottleneck", "latency", "for example"}};
  for (const auto& [figures, kind] : kinds) {
    const auto [reached, bandwidth, latency] = figures;
    rows.push_back({std::to_string(kind.count), reached ? text(BytesPerSecond(bandwidth)) : "no route",
                    reached ? text(Seconds(latency)) : "-", kind.example});
  }
  const std::string heading = topology.complete() && topology.hosts().size() == n
                                  ? "host pairs, each direction\n"
                                  : fmt::format("host pairs, each direction, a sample of {} out of {}\n",
                                                topology.routes().size(), n * (n - 1));
  return '\n' + heading + table(rows);
}

std::string cut_text(const Topology& topology, std::size_t hosts) {
  const auto cut = topology.narrowest_cut();
  if (!cut) return {};
  const std::size_t sampled = topology.hosts().size();
  const std::size_t in_sample = std::min(cut->from.size(), cut->to.size());
  // A sample has every n-th host.
  const std::size_t smaller = in_sample * hosts / sampled;
  std::string out = fmt::format("\nnarrowest cut, one direction: {}", text(cut->bandwidth));
  if (in_sample > 1)
    out += fmt::format(", {} for each of {}{}", text(cut->bandwidth / static_cast<double>(smaller)),
                       sampled < hosts ? "about " : "", counted(smaller, "host"));
  if (sampled < hosts) out += fmt::format(" (found with {} hosts)", sampled);
  out += cut->channels.empty() ? "\n  no route"
                               : fmt::format("\n  {} {}", cut->channels.size() == 1 ? "link" : "links",
                                             name_ranges(cut->channels));
  out += fmt::format("\n  from {}\n  to {}\n", name_ranges(cut->from), name_ranges(cut->to));
  if (cut->as_narrow > 0)
    out += fmt::format("  {} as narrow\n", counted(static_cast<std::size_t>(cut->as_narrow), "other cut") +
                                               (cut->as_narrow == 1 ? " is" : " are"));
  return out;
}

std::string slowest_pair_text(const Topology& topology) {
  std::optional<std::pair<Topology::Pair, Path>> slowest;
  for (const auto& [pair, route] : topology.routes()) {
    if (pair.first == pair.second || !route) continue;
    const auto path = topology.between(topology.hosts()[static_cast<std::size_t>(pair.first)],
                                       topology.hosts()[static_cast<std::size_t>(pair.second)]);
    const bool slower = !slowest || std::pair(path->bandwidth, slowest->second.latency) <
                                        std::pair(slowest->second.bandwidth, path->latency);
    if (slower) slowest = {pair, *path};
  }
  if (!slowest) return {};
  const auto& [pair, path] = *slowest;
  return fmt::format(
      "\nslowest pair of hosts{}: {} -> {}, {}, {}\n", topology.complete() ? "" : " in the sample",
      topology.hosts()[static_cast<std::size_t>(pair.first)],
      topology.hosts()[static_cast<std::size_t>(pair.second)], text(path.bandwidth), text(path.latency));
}

std::string bisection_text(const Topology& topology) {
  const auto bisection = topology.bisection();
  if (!bisection) return {};
  const char* const found = bisection->exact ? "" : topology.complete() ? "at most " : "about ";
  return fmt::format(
      "\nbisection, one direction: {}{}{}\n  between {} and the rest\n", found, text(bisection->bandwidth),
      bisection->exact      ? ""
      : topology.complete() ? " (the narrowest of some splits; others were not tried)"
                            : " (from sampled routes; hosts split in the middle of the file's order)",
      name_ranges(bisection->half));
}

/// Hosts whose stated speed counts nowhere, with equal ones in one line.
std::string ignored_speeds_text(const Description& description) {
  std::map<std::string, std::vector<std::string>> hosts;
  for (const auto& host : description.hosts)
    if (std::string why = ignored_speed(host); !why.empty()) hosts[std::move(why)].push_back(host.name);
  std::string out = hosts.empty() ? "" : "\nspeeds that do not count\n";
  for (const auto& [why, names] : hosts) out += fmt::format("  {}: {}\n", name_ranges(names), why);
  return out;
}

std::string config_text(const Description& description) {
  if (description.config.empty()) return {};
  std::string out = "\nSimGrid settings of this file\n";
  for (const auto& [flag, value] : description.config) out += fmt::format("  {} = {}\n", flag, value);
  return out;
}

}  // namespace

std::string describe(const Description& description, const Topology& topology) {
  return description.file + "\n\n" + hosts_text(description) + '\n' + links_text(description) +
         pairs_text(topology, description.hosts.size()) + cut_text(topology, description.hosts.size()) +
         slowest_pair_text(topology) + bisection_text(topology) + ignored_speeds_text(description) +
         config_text(description);
}

std::string describe(const std::vector<Unsupported>& unsupported) {
  std::string text = unsupported.empty() ? "" : "\nnotes on simulations\n";
  for (const auto& one : unsupported) {
    const char* const heading = !one.is_refused        ? "may end with an error"
                                : one.is_of_some_hosts ? "tandem simulate refuses ranks on these hosts"
                                                       : "tandem simulate refuses this file";
    text += fmt::format("  {}:\n    {}\n", heading, one.message);
  }
  return text;
}

}  // namespace tandem::platforms

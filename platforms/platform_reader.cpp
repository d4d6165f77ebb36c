#include "platforms/platform_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <simgrid/s4u/Disk.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "platforms/description_json.hpp"
#include "platforms/host_price.hpp"
#include "platforms/load.hpp"
#include "platforms/simgrid_version.hpp"
#include "platforms/state_profile.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::platforms {
namespace {

namespace s4u = simgrid::s4u;
using nlohmann::json;

// Of one channel of DDR4 memory with a single core streaming; only for hosts that name no device.
constexpr BytesPerSecond kDefaultMemoryRate{10e9};

const char* sharing_name(s4u::Link::SharingPolicy policy) {
  switch (policy) {
    case s4u::Link::SharingPolicy::FATPIPE:
      return "FATPIPE";
    case s4u::Link::SharingPolicy::WIFI:
      return "WIFI";
    case s4u::Link::SharingPolicy::SPLITDUPLEX:
      return "SPLITDUPLEX";
    default:
      return "SHARED";
  }
}

Host host_of(const s4u::Host& from) {
  Host host;
  host.name = from.get_name();
  host.speed = FlopsPerSecond(from.get_speed());
  host.cores = from.get_core_count();
  for (const auto* disk : from.get_disks()) {
    host.disks.push_back({disk->get_name(), BytesPerSecond(disk->get_read_bandwidth()),
                          BytesPerSecond(disk->get_write_bandwidth())});
    for (const auto& [name, value] : *disk->get_properties()) host.disks.back().properties[name] = value;
  }
  for (const auto& [name, value] : *from.get_properties()) host.properties[name] = value;
  return host;
}

/// The name that the file gave to one half of a SPLITDUPLEX link, or empty when `name` is not such a half.
std::string whole_link(const std::string& name, const char* half, const DeclarationOrder& declared) {
  const std::string suffix = half;
  if (name.size() <= suffix.size() || name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0)
    return {};
  const std::string whole = name.substr(0, name.size() - suffix.size());
  if (!declared.knows(whole)) return {};
  try {
    return s4u::SplitDuplexLink::by_name(whole)->get_name();
  } catch (const std::invalid_argument&) {
    // Another link has this name.
    return {};
  }
}

std::vector<Link> links_of(const s4u::Engine& engine, const DeclarationOrder& declared) {
  std::vector<Link> links;
  for (const auto* from : engine.get_all_links()) {
    Link link{from->get_name(), BytesPerSecond(from->get_bandwidth()), Seconds(from->get_latency()),
              sharing_name(from->get_sharing_policy())};
    if (link.name == "__loopback__" || !whole_link(link.name, "_DOWN", declared).empty()) continue;
    if (const auto whole = whole_link(link.name, "_UP", declared); !whole.empty()) {
      link.name = whole;
      link.sharing = "SPLITDUPLEX";
    }
    links.push_back(link);
  }
  return links;
}

/// Hosts without devices, and links; runs in the child.
Description read_engine(const s4u::Engine& engine, const DeclarationOrder& hosts,
                        const DeclarationOrder& links) {
  Description description;
  for (const auto* host : engine.get_all_hosts()) description.hosts.push_back(host_of(*host));
  hosts.sort(description.hosts);
  description.links = links_of(engine, links);
  links.sort(description.links);
  return description;
}

/// Reads a quantity from a property; `fallback` if the host does not have it. Errors: ConfigError without
/// place.
template <class Quantity>
Quantity figure(const Host& host, const std::string& property, Quantity fallback,
                std::optional<Quantity> (*parse)(const std::string&), const std::string& expected,
                bool zero_allowed) {
  const auto found = host.properties.find(property);
  if (found == host.properties.end()) return fallback;
  const auto value = parse(found->second);
  if (!value || value->count() < 0.0 || (value->count() == 0.0 && !zero_allowed))
    throw ConfigError("property '" + property + "': expected " + expected + ", found '" + found->second +
                      "'");
  return *value;
}

/// SimGrid's message about it is long, and its line is the last one.
void check_version(const PlatformXml& xml) {
  const XmlElement& root = xml.elements().front();
  const std::string text = root.attribute("version");
  const auto version = parse_number<double>(text);
  constexpr double oldest = 4.0, newest = 4.1;
  if (text.empty())
    throw ConfigError(xml.place(root) +
                      ": version: expected 4 or 4.1 (<platform version=\"4.1\">), found none: SimGrid takes "
                      "such a file for one of before 3.1, with units of other sizes");
  if (!version || (*version >= oldest && *version <= newest)) return;
  throw ConfigError(fmt::format("{}: version: expected 4 or 4.1, found '{}': {}", xml.place(root), text,
                                version < oldest
                                    ? "the file is too old for SimGrid 3.13 and later; the command "
                                      "`simgrid_update_xml FILE` of SimGrid converts it"
                                    : "the file was written for a newer SimGrid than the installed one"));
}

/// SimGrid needs about 2 kB for a host. The check comes before it fills the memory.
void check_host_count(const PlatformXml& xml) {
  const long long count = xml.host_count();
  if (count <= most_hosts) return;
  const auto& elements = xml.elements();
  const auto largest = std::max_element(elements.begin(), elements.end(), [](const auto& a, const auto& b) {
    return a.host_count() < b.host_count();
  });
  throw ConfigError(xml.place(*largest) + ": expected at most " + std::to_string(most_hosts) +
                    " hosts in a platform, found " + std::to_string(count));
}

void check_outermost_topology(const PlatformXml& xml) {
  if (simgrid_version::has_outermost_topologies) return;
  for (const auto& element : xml.elements())
    if (element.name == "cluster" && element.parent == 0 && !element.attribute("topology").empty())
      throw ConfigError(xml.place(element) +
                        ": expected a cluster with a topology inside a <zone>, found it outermost, which "
                        "this SimGrid crashes on");
}

/// SimGrid needs about 20 us for a host: the user must know what takes time.
void announce_many_hosts(const PlatformXml& xml, const ShortClusters& clusters) {
  constexpr long long many_hosts = 50'000;
  const long long built = xml.host_count() - clusters.missing();
  if (built > many_hosts)
    std::fprintf(stderr, "tandem: %s: SimGrid builds %lld hosts\n", xml.path().c_str(), built);
}

/// "lab.xml:12: host 'a'"; for a host that a cluster declares, the place of the cluster.
std::string place_of(const PlatformXml& xml, const char* element, const std::string& name) {
  if (const XmlElement* const declared = xml.find(element, name)) return xml.place(*declared);
  const std::string text = std::string(element) + " '" + name + "'";
  const XmlElement* const cluster = xml.cluster_of(name);
  return (cluster != nullptr ? xml.place(*cluster) : xml.path()) + ": " + text;
}

/// What SimGrid simulates to an end: time does not advance beyond a latency of 1e308 s.
struct FigureRange {
  const char* figure;
  double least;
  double most;
};
constexpr FigureRange speed_range{"speed (flop/s)", 1e-3, 1e30};
constexpr FigureRange bandwidth_range{"bandwidth (bytes/s)", 1e-3, 1e30};
constexpr FigureRange read_range{"read_bw (bytes/s)", 1e-3, 1e30};
constexpr FigureRange write_range{"write_bw (bytes/s)", 1e-3, 1e30};
constexpr FigureRange latency_range{"latency (s)", 0.0, 1e6};

/// SimGrid accepts figures out of range, and then fails or runs forever.
void check_figures(const Description& description, const PlatformXml& xml) {
  const auto check = [&](const char* element, const std::string& name, const std::string& owner, double value,
                         const FigureRange& range) {
    if (value >= range.least && value <= range.most) return;
    throw ConfigError(fmt::format("{}{}: expected a {} from {} to {}, found {}", place_of(xml, element, name),
                                  owner, range.figure, range.least, range.most, value));
  };
  for (const auto& host : description.hosts) {
    // A host that computes nothing, such as one for storage, may have no speed; placements are checked.
    if (host.speed.count() != 0.0) check("host", host.name, "", host.speed.count(), speed_range);
    for (const auto& disk : host.disks) {
      const std::string owner = " of host '" + host.name + "'";
      check("disk", disk.name, owner, disk.read_rate.count(), read_range);
      check("disk", disk.name, owner, disk.write_rate.count(), write_range);
    }
  }
  for (const auto& link : description.links) {
    check("link", link.name, "", link.bandwidth.count(), bandwidth_range);
    check("link", link.name, "", link.latency.count(), latency_range);
  }
}

Device device_of(const Host& host) {
  Device device{.name = "host",
                .speed = host.speed,
                .memory_rate = kDefaultMemoryRate,
                .launch = Seconds(0.0),
                .has_one_speed = true};
  if (const auto named = host.properties.find("device"); named != host.properties.end())
    device = find_device(named->second);
  device.memory_rate = figure(host, "tandem:memory_rate", device.memory_rate, parse_rate,
                              "a rate > 0 (" + rate_examples() + ")", false);
  device.launch = figure(host, "tandem:launch", device.launch, parse_seconds,
                         "a time >= 0 (" + time_examples("20us") + ")", true);
  return device;
}

std::optional<int> gpu_of(const Host& host) {
  const auto number = host.properties.find("tandem:gpu");
  if (number == host.properties.end()) return host.device.is_gpu ? std::optional(0) : std::nullopt;
  const std::string& text = number->second;
  const auto value = parse_number<int>(text);
  if (!value || *value < 0)
    throw ConfigError("property 'tandem:gpu': expected the number of a GPU, 0 or more, found '" + text + "'");
  return value;
}

}  // namespace

PlatformReader::PlatformReader(const std::string& path) : xml_(path), clusters_(xml_) {
  check_version(xml_);
  check_host_count(xml_);
  check_outermost_topology(xml_);
  announce_many_hosts(xml_, clusters_);
  const long long built = xml_.host_count() - clusters_.missing();
  hosts_.expect(built);
  // A host of a cluster has a link, and that one two halves.
  links_.expect(3 * built);
}

void PlatformReader::watch() {
  s4u::Host::on_creation_cb([this](s4u::Host& host) { hosts_.add(host.get_name()); });
  if (!simgrid_version::announces_links_in_order)
    for (const auto& element : xml_.elements())
      if (element.name == "link") links_.add(element.attribute("id"));
  s4u::Link::on_creation_cb([this](s4u::Link& link) {
    const std::string& name = link.get_name();
    constexpr std::string_view half = "_UP";
    if (!simgrid_version::announces_links_in_order && name.ends_with(half))
      links_.add(name.substr(0, name.size() - half.size()));
    links_.add(name);
  });
}

Description PlatformReader::read(const s4u::Engine& engine) const {
  Description description = read_engine(engine, hosts_, links_);
  description.file = xml_.path();
  // A property that the user has given counts more.
  for (const auto& [name, lifetime] : lifetimes_of_states(xml_))
    for (Host& host : description.hosts)
      if (host.name == name) host.properties.try_emplace("tandem:lifetime", lifetime);
  check_figures(description, xml_);
  return description;
}

std::string PlatformReader::to_line(const Description& description) {
  try {
    return to_json(description).dump();
  } catch (const json::type_error&) {
    throw ConfigError(description.file + ": expected names and properties in UTF-8, found other bytes");
  }
}

Description PlatformReader::from_line(const std::string& line) const {
  Description description = description_from_json(json::parse(line));
  if (description.hosts.empty()) throw ConfigError(xml_.path() + ": expected at least one host, found none");
  const std::string folder = std::filesystem::path(xml_.path()).parent_path().string();
  for (auto& host : description.hosts) try {
      add_offer(host, folder);
      host.device = device_of(host);
      host.gpu = gpu_of(host);
    } catch (const ConfigError& error) {
      throw ConfigError(place_of(xml_, "host", host.name) + ": " + error.what());
    }
  clusters_.complete(description);
  try {
    name_machines(description.hosts);
  } catch (const ConfigError& error) {
    throw ConfigError(xml_.path() + ": " + error.what());
  }
  description.config = xml_.config();
  return description;
}

}  // namespace tandem::platforms

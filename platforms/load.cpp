#include "platforms/load.hpp"

#include <algorithm>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <charconv>
#include <cmath>
#include <simgrid/s4u/Disk.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <unordered_map>
#include <unordered_set>

#include "platforms/description_json.hpp"
#include "platforms/simgrid_child.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

namespace s4u = simgrid::s4u;

// Of one channel of DDR4 memory with a single core streaming; only for hosts that name no device.
constexpr BytesPerSecond kDefaultMemoryRate{10e9};

/// SimGrid keeps hosts and links in hash tables; this keeps the order of the file.
class DeclarationOrder {
 public:
  void add(const std::string& name) { places_.try_emplace(name, places_.size()); }
  bool knows(const std::string& name) const { return places_.count(name) > 0; }
  template <class Item>
  void sort(std::vector<Item>& items) const {
    std::stable_sort(items.begin(), items.end(),
                     [this](const Item& a, const Item& b) { return place(a.name) < place(b.name); });
  }

 private:
  std::size_t place(const std::string& name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? places_.size() : found->second;
  }
  std::unordered_map<std::string, std::size_t> places_;
};

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
  return declared.knows(whole) && s4u::Link::by_name_or_null(whole) == nullptr ? whole : std::string();
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

std::map<std::string, std::string> read_config(const std::string& path) {
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(path, tree);
  std::map<std::string, std::string> config;
  for (const auto& [element, content] : tree.get_child("platform")) {
    if (element != "config") continue;
    for (const auto& [child, prop] : content)
      if (child == "prop")
        config[prop.get<std::string>("<xmlattr>.id")] = prop.get<std::string>("<xmlattr>.value");
  }
  return config;
}

/// Reads a number from a property; `fallback` if the host does not have it.
double figure(const Host& host, const std::string& property, double fallback, bool zero_allowed,
              const std::string& place) {
  const auto found = host.properties.find(property);
  if (found == host.properties.end()) return fallback;
  const std::string& text = found->second;
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size();
  if (!number || !(zero_allowed ? value >= 0.0 : value > 0.0))
    throw ConfigError(place + "property '" + property + "': expected a number " +
                      (zero_allowed ? ">= 0" : "> 0") + ", found '" + text + "'");
  return value;
}

/// SimGrid accepts such values, and then fails or runs forever.
void check_figures(const Description& description) {
  const auto check = [&](const std::string& what, const char* name, double value, bool zero_allowed) {
    if (std::isfinite(value) && (zero_allowed ? value >= 0.0 : value > 0.0)) return;
    throw ConfigError(description.file + ": " + what + ": expected a " + name +
                      (zero_allowed ? " >= 0" : " > 0") + ", found " + std::to_string(value));
  };
  for (const auto& host : description.hosts) {
    check("host '" + host.name + "'", "speed", host.speed.count(), false);
    for (const auto& disk : host.disks) {
      const std::string place = "disk '" + disk.name + "' of host '" + host.name + "'";
      check(place, "read_bw", disk.read_rate.count(), false);
      check(place, "write_bw", disk.write_rate.count(), false);
    }
  }
  for (const auto& link : description.links) {
    check("link '" + link.name + "'", "bandwidth", link.bandwidth.count(), false);
    check("link '" + link.name + "'", "latency", link.latency.count(), true);
  }
}

Device device_of(const Host& host, const std::string& file) {
  const std::string place = file + ": host '" + host.name + "': ";
  Device device{"host", host.speed, kDefaultMemoryRate, Seconds(0.0)};
  if (const auto named = host.properties.find("device"); named != host.properties.end()) {
    try {
      device = find_device(named->second);
    } catch (const ConfigError& error) {
      throw ConfigError(place + error.what());
    }
  }
  device.memory_rate =
      BytesPerSecond(figure(host, "tandem:memory_rate", device.memory_rate.count(), false, place));
  device.launch = Seconds(figure(host, "tandem:launch", device.launch.count(), true, place));
  return device;
}

std::optional<int> gpu_of(const Host& host, const std::string& file) {
  const auto number = host.properties.find("tandem:gpu");
  if (number == host.properties.end()) return host.device.is_gpu ? std::optional(0) : std::nullopt;
  const std::string& text = number->second;
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw ConfigError(file + ": host '" + host.name +
                      "': property 'tandem:gpu': expected the number of a GPU, 0 or more, found '" + text +
                      "'");
  return value;
}

}  // namespace

Description load_platform(const std::string& path) {
  check_is_platform_xml(path);
  DeclarationOrder hosts;
  DeclarationOrder links;
  const ChildResult answer = ask_simgrid(
      path,
      [&] {
        s4u::Host::on_creation_cb([&](s4u::Host& host) { hosts.add(host.get_name()); });
        s4u::Link::on_creation_cb([&](s4u::Link& link) { links.add(link.get_name()); });
      },
      [&](s4u::Engine& engine, const Emit& emit) {
        emit(to_json(read_engine(engine, hosts, links)).dump());
      });
  if (!answer.succeeded)
    throw ConfigError(path + ": SimGrid refuses this platform file: " + simgrid_message(answer));
  Description description = description_from_json(nlohmann::json::parse(answer.output));
  description.file = path;
  if (description.hosts.empty()) throw ConfigError(path + ": expected at least one host, found none");
  check_figures(description);
  for (auto& host : description.hosts) {
    host.device = device_of(host, path);
    host.gpu = gpu_of(host, path);
  }
  description.config = read_config(path);
  return description;
}

}  // namespace tandem::platforms

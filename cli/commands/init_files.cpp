#include "cli/commands/init_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <regex>
#include <utility>

#include "platforms/description.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::cli {
namespace {

constexpr int most_devices = 1000;
// What drives on PCIe 3.0 x4 typically sustain; the interface itself would carry 3.9 GB/s.
constexpr const char* nvme_drive = "<disk id=\"disk\" read_bw=\"3GBps\" write_bw=\"2GBps\"/>";

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const auto& device : platforms::device_catalog()) names.push_back(device.name);
  return names;
}

const platforms::Device& device_of(const std::string& name) {
  try {
    return platforms::find_device(name);
  } catch (const ConfigError&) {
    const std::string nearest = nearest_name(name, device_names());
    throw ConfigError(fmt::format("expected a device of `tandem list device`, found '{}'; {}", name,
                                  nearest.empty() ? "begin with one of them and change the platform file: " +
                                                        std::string(platforms::device_of_ones_own)
                                                  : "did you mean '" + nearest + "'?"));
  }
}

/// "a100:2".
DeviceGroup parse_group(const std::string& text) {
  const auto colon = text.find(':');
  DeviceGroup group{.device = device_of(text.substr(0, colon)).name};
  if (colon == std::string::npos) return group;
  const auto count = parse_number<int>(text.substr(colon + 1), 1, most_devices);
  if (!count)
    throw ConfigError(fmt::format(
        "expected DEVICE:COUNT with a count from 1 to {}, such as a100:2, found '{}'", most_devices, text));
  group.count = *count;
  return group;
}

/// What SimGrid wants in this order.
struct ZoneText {
  std::string hosts;
  std::string links;
  std::string routes;
};

std::string latency_text() { return fmt::format("{:g}us", 1e6 * cable_latency.count()); }

struct Cable {
  std::string bandwidth;
  std::string latency = latency_text();
};

/// From a host to a switch.
void add_cable(ZoneText& zone, const Cable& cable, const std::string& host, const std::string& to) {
  zone.links += fmt::format(
      "    <link id=\"cable-{}\" bandwidth=\"{}\" latency=\"{}\" sharing_policy=\"SPLITDUPLEX\"/>\n", host,
      cable.bandwidth, cable.latency);
  zone.routes += fmt::format(
      "    <route src=\"{0}\" dst=\"{1}\"><link_ctn id=\"cable-{0}\" direction=\"UP\"/></route>\n", host, to);
}

/// Adds a server. If samples come from an object store, it has no disk, which no rank would read.
void add_server(ZoneText& zone, const NewJob& job) {
  const std::string disk = fmt::format("      <disk id=\"disk\" read_bw=\"{}\" write_bw=\"1GBps\"/>\n",
                                       job.storage.empty() ? "2GBps" : job.storage);
  zone.hosts += fmt::format(
      "    <!-- Holds the model, or coordinates the workers{}. -->\n"
      "    <host id=\"server\" speed=\"28.8Gf\" core=\"64\">\n"
      "{}"
      "      <prop id=\"device\" value=\"epyc-7742\"/>\n"
      "      <prop id=\"memory\" value=\"256GiB\"/>\n"
      "    </host>\n",
      job.object_store.empty() ? "; its disk holds data and checkpoints" : "",
      job.object_store.empty() ? disk : "");
  add_cable(zone, {job.within}, "server", "site-1");
}

/// All that reads from it shares its rate, not that of its cable.
void add_object_store(ZoneText& zone, const NewJob& job) {
  if (job.object_store.empty()) return;
  zone.hosts += fmt::format(
      "    <!-- The object store: all readers share its rate; a request takes 10 ms and the time of its "
      "bytes, 64 at "
      "the "
      "same time. -->\n"
      "    <host id=\"object-store\" speed=\"28.8Gf\" core=\"64\">\n"
      "      <disk id=\"disk\" read_bw=\"{}\" write_bw=\"{}\">\n"
      "        <prop id=\"tandem:latency\" value=\"10ms\"/>\n"
      "        <prop id=\"tandem:parallel\" value=\"64\"/>\n"
      "      </disk>\n"
      "      <prop id=\"device\" value=\"epyc-7742\"/>\n"
      "    </host>\n",
      job.object_store, job.object_store);
  add_cable(zone, {"100GBps"}, "object-store", "site-1");
}

/// NVLink of one GPU in one direction, from NVIDIA's data sheets (half of the sum of both directions); PCIe 3
/// with 16 lanes for devices without it.
std::string nvlink_of(const std::string& device) {
  static const std::map<std::string, std::string> rates = {
      {"v100", "150GBps"}, {"a100", "300GBps"}, {"h100", "450GBps"}, {"h200", "450GBps"}};
  const auto found = rates.find(device);
  return found == rates.end() ? "16GBps" : found->second;
}

/// Hosts of one node depart, and are paid, as one.
std::string part_of_machine(const std::string& node) {
  return fmt::format("<prop id=\"tandem:machine\" value=\"{}\"/>", node);
}

/// `more`: properties.
void add_device(ZoneText& zone, const std::string& name, const std::string& device, const Cable& cable,
                const std::string& to, const std::string& more = "") {
  zone.hosts += fmt::format(
      "    <host id=\"{}\" speed=\"{:.6g}Gf\" core=\"1\">{}<prop id=\"device\" value=\"{}\"/>{}</host>\n",
      name, device_of(device).speed.count() * 1e-9, device_of(device).is_gpu ? nvme_drive : "", device, more);
  add_cable(zone, cable, name, to);
}

/// "site-1-a100-2": devices of a site or a node. `prefix`: its name.
std::vector<std::pair<std::string, std::string>> devices_of(const std::vector<DeviceGroup>& groups,
                                                            const std::string& prefix) {
  std::vector<std::pair<std::string, std::string>> devices;
  std::map<std::string, int> numbers;
  for (const auto& group : groups)
    for (int i = 0; i < group.count; ++i)
      devices.emplace_back(fmt::format("{}-{}-{}", prefix, group.device, ++numbers[group.device]),
                           group.device);
  return devices;
}

void add_note_on_disks(ZoneText& zone, const std::vector<DeviceGroup>& groups) {
  if (std::ranges::any_of(groups, [](const auto& group) { return device_of(group.device).is_gpu; }))
    zone.hosts +=
        "    <!-- Disks are assumed: an NVMe drive on PCIe 3.0 x4. They take the time of commits. -->\n";
}

/// One host per device, around the switch of its site.
void add_site(ZoneText& zone, const NewJob& job, std::size_t number) {
  const std::string site = fmt::format("site-{}", number);
  zone.hosts += fmt::format("    <!-- Site {}: every device is a host with a link of its own. -->\n", number);
  add_note_on_disks(zone, job.sites[number - 1]);
  for (const auto& [name, device] : devices_of(job.sites[number - 1], site))
    add_device(zone, name, device, {job.within}, site);
}

std::string processors_of(int node) { return fmt::format("node-{}-processors", node); }

/// One host per device, around the switch of its node, from which one link leads to the network. The caches
/// of an object store are on the processors of the nodes.
void add_node(ZoneText& zone, const NewJob& job, int number) {
  const std::string node = fmt::format("node-{}", number);
  zone.hosts += fmt::format(
      "    <!-- Node {}, one machine: every device is a host with its NVLink (or PCIe). -->\n", number);
  add_note_on_disks(zone, job.sites.front());
  for (const auto& [name, device] : devices_of(job.sites.front(), node))
    add_device(zone, name, device, {job.nvlink.empty() ? nvlink_of(device) : job.nvlink, "2us"}, node,
               part_of_machine(node));
  if (!job.object_store.empty()) {
    zone.hosts += fmt::format(
        "    <host id=\"{}\" speed=\"28.8Gf\" core=\"64\">\n"
        "      <disk id=\"nvme\" read_bw=\"5GBps\" write_bw=\"3GBps\"/>\n"
        "      <prop id=\"device\" value=\"epyc-7742\"/>\n"
        "      <prop id=\"memory\" value=\"1TiB\"/>\n"
        "      {}\n"
        "    </host>\n",
        processors_of(number), part_of_machine(node));
    add_cable(zone, {"50GBps", "2us"}, processors_of(number), node);
  }
  zone.links += fmt::format(
      "    <link id=\"network-{}\" bandwidth=\"{}\" latency=\"{}\" sharing_policy=\"SPLITDUPLEX\"/>\n", node,
      job.within, latency_text());
  zone.routes += fmt::format(
      "    <route src=\"{0}\" dst=\"site-1\"><link_ctn id=\"network-{0}\" direction=\"UP\"/></route>\n",
      node);
}

/// Every site reaches the others through one link, which its devices share.
void add_uplinks(ZoneText& zone, const NewJob& job) {
  zone.links += "    <!-- Between the sites: the link of a site carries everything that leaves it. -->\n";
  const double half_s = parse_seconds(job.latency)->count() / 2;
  for (std::size_t site = 1; site <= job.sites.size(); ++site) {
    zone.links += fmt::format(
        "    <link id=\"uplink-{}\" bandwidth=\"{}\" latency=\"{}s\" sharing_policy=\"SPLITDUPLEX\"/>\n",
        site, job.between, half_s);
    zone.routes += fmt::format(
        "    <route src=\"site-{0}\" dst=\"internet\"><link_ctn id=\"uplink-{0}\" "
        "direction=\"UP\"/></route>\n",
        site);
  }
}

/// Hosts of the workers. Of nodes, one of each in turn: a worker without a cache on its own host takes them
/// in turn, too, and so reads through that of its node.
std::vector<std::string> worker_names(const NewJob& job) {
  std::vector<std::string> names;
  if (job.nodes == 0) {
    for (std::size_t site = 1; site <= job.sites.size(); ++site)
      for (const auto& device : devices_of(job.sites[site - 1], fmt::format("site-{}", site)))
        names.push_back(device.first);
    return names;
  }
  const std::size_t each = devices_of(job.sites.front(), "").size();
  for (std::size_t device = 0; device < each; ++device)
    for (int node = 1; node <= job.nodes; ++node)
      names.push_back(devices_of(job.sites.front(), fmt::format("node-{}", node))[device].first);
  return names;
}

std::vector<std::string> cache_names(const NewJob& job) {
  if (job.nodes == 0) return worker_names(job);
  std::vector<std::string> names;
  for (int node = 1; node <= job.nodes; ++node) names.push_back(processors_of(node));
  return names;
}

/// "[a, b, ...]" in lines of some names.
std::string list_text(const std::vector<std::string>& names) {
  constexpr std::size_t names_per_line = 4;
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "[" : i % names_per_line == 0 ? ",\n    " : ", ") + names[i];
  return text + "]";
}

std::string size_text(double bytes) { return fmt::format("{}MB", std::max(1LL, std::llround(bytes * 1e-6))); }

/// A cache of each node, of which the memory holds a quarter of the node's share of the samples and the disk
/// the rest.
std::string object_store_text(const NewJob& job) {
  const auto caches = cache_names(job);
  const double all = static_cast<double>(job.dataset_size.count());
  const double share = all / static_cast<double>(caches.size());
  return fmt::format(
      "  # One worker per device, of each node in turn, so that each reads through the cache of its own "
      "node.\n"
      "  workers: {}\n"
      "  cache_nodes: {}\n"
      "  stores: [object-store]\n"
      "\n"
      "data:\n"
      "  source: storage          # memory: each worker holds its samples\n"
      "  sampling: shard          # each node reads a part of its own; shuffled: another part in each "
      "epoch, as "
      "PyTorch's DistributedSampler\n"
      "  cache: minio             # tandem list cache\n"
      "  # Of each node; its share of the data set ({}) is {}.\n"
      "  cache_capacity: {:<9}# memory\n"
      "  disk_capacity: {:<10}# its disk; 0: memory alone\n",
      list_text(worker_names(job)), list_text(caches), size_text(all), size_text(share),
      size_text(share / 4) + ' ', size_text(share) + ' ');
}

bool exchanges_by_all_reduce(const NewJob& job) {
  return job.algorithm == "bsp" && (job.nodes > 0 || job.reads_samples());
}

std::string placement_text(const NewJob& job) {
  const std::string text = fmt::format(
      "placement:\n"
      "  servers: [server]        # {}workers: all other hosts of the platform\n",
      exchanges_by_all_reduce(job) ? "unused without sync.over: server; " : "");
  if (!job.object_store.empty()) return "placement:\n  servers: [server]\n" + object_store_text(job);
  if (job.storage.empty()) return text;
  return text +
         fmt::format(
             "  cache_nodes: [server]    # read samples from their disk, and cache them for the workers\n"
             "\n"
             "data:\n"
             "  source: storage          # memory: each worker holds its samples\n"
             "  cache: lru               # tandem list cache\n"
             "  cache_capacity: {:<9}# memory of the server for samples; all of them have {}\n",
             size_text(static_cast<double>(job.dataset_size.count()) / 2) + ' ',
             size_text(static_cast<double>(job.dataset_size.count())));
}

std::string sync_text(const NewJob& job) {
  const std::string algorithm = fmt::format("  algorithm: {:<14}# tandem list sync\n", job.algorithm + ' ');
  if (!exchanges_by_all_reduce(job)) return algorithm;
  if (job.nodes > 0)
    return "  preset: ddp              # as PyTorch's DistributedDataParallel (tandem show --keys "
           "sync.preset)\n" +
           algorithm;
  return algorithm +
         "  over: all-reduce         # server: through the server\n"
         "  collective: native       # as fast as the MPI library's own\n";
}

/// Ways to exchange, or caches where storage is the question.
std::string variants_text(const NewJob& job) {
  if (!job.object_store.empty())
    return "  no-cache: {data.cache_capacity: 0, data.disk_capacity: 0}\n"
           "  memory-alone: {data.disk_capacity: 0}\n"
           "  no-storage: {data.source: memory, data.cache_capacity: 0, data.disk_capacity: 0, "
           "placement.cache_nodes: [], placement.stores: []}\n";
  if (!job.storage.empty())
    return "  no-cache: {data.cache_capacity: 0}\n"
           "  lru: {data.cache: lru}\n"
           "  minio: {data.cache: minio}\n"
           "  no-storage: {data.source: memory, data.cache_capacity: 0, placement.cache_nodes: []}   # if "
           "reading took no time\n";
  std::string text = "  as-above: {}\n";
  if (job.algorithm != "bsp") text += "  bsp: {sync.algorithm: bsp}\n";
  return text +
         "  local-sgd: {sync.algorithm: local-sgd, sync.options: {h: 8}}\n"
         "  ring: {sync.algorithm: bsp, sync.over: all-reduce, sync.collective: ring}\n";
}

std::string devices_text(const std::vector<DeviceGroup>& groups) {
  std::vector<std::string> all;
  for (const auto& group : groups) all.push_back(fmt::format("{} {}", group.count, group.device));
  return fmt::format("{}", fmt::join(all, " and "));
}

}  // namespace

std::string summary_text(const NewJob& job) {
  std::string text;
  if (job.nodes > 0) {
    text =
        fmt::format("{} node{} of {}", job.nodes, job.nodes == 1 ? "" : "s", devices_text(job.sites.front()));
  } else {
    for (const auto& site : job.sites) text += (text.empty() ? "" : "; ") + devices_text(site);
    text += ", each a machine of its own (devices in one machine: --nodes)";
  }
  return fmt::format("{}; {} exchanges {}", text, job.algorithm,
                     exchanges_by_all_reduce(job) ? "by all-reduce"
                                                  : "through a parameter server (all-reduce: variant ring)");
}

std::vector<std::vector<DeviceGroup>> parse_devices(const std::string& text, int sites) {
  std::vector<DeviceGroup> groups;
  for (const std::string& word : split(text, ',')) groups.push_back(parse_group(word));
  if (groups.empty()) throw ConfigError("expected devices such as a100:2,t4:6, found none");
  std::vector<std::vector<DeviceGroup>> all(static_cast<std::size_t>(sites));
  if (groups.size() == all.size()) {
    for (std::size_t i = 0; i < groups.size(); ++i) all[i] = {groups[i]};
    return all;
  }
  for (const auto& group : groups) {
    if (group.count % sites != 0)
      throw ConfigError(
          fmt::format("expected one entry per site, or counts that {} sites can share equally, found {}:{}",
                      sites, group.device, group.count));
    for (auto& site : all) site.push_back({group.device, group.count / sites});
  }
  return all;
}

void check_bandwidth(const std::string& text) {
  static const std::regex bandwidth(R"(\d{1,9}(\.\d{1,9})?[kMGT]?(bps|Bps))");
  static const std::regex zero(R"([0.]+\D+)");
  if (std::regex_match(text, bandwidth) && !std::regex_match(text, zero)) return;
  static const std::regex other_case(R"((\d[\d.]*)([kmgt]?)bps)", std::regex::icase);
  std::smatch parts;
  std::string meant;
  if (std::regex_match(text, parts, other_case)) {
    std::string prefix = parts[2];
    std::ranges::transform(prefix, prefix.begin(), [](unsigned char c) {
      return static_cast<char>(std::tolower(c) == 'k' ? 'k' : std::toupper(c));
    });
    meant = "; did you mean " + parts[1].str() + prefix + "bps?";
  }
  throw ConfigError("expected a bandwidth above 0 such as 1Gbps (bits) or 125MBps (bytes), found '" + text +
                    "'" + meant);
}

std::string platform_text(const NewJob& job) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<!-- Written by `tandem init`. Change names, devices, disks and links as you like; `tandem show` with "
      "this file\n"
      "     prints what follows from them. How fast a host computes is in its property \"device\", a name "
      "of\n"
      "     `tandem list devices`; its speed is ignored unless that property is removed. -->\n"
      "<platform version=\"4.1\">\n  <zone id=\"all\" routing=\"Floyd\">\n";
  ZoneText zone;
  add_server(zone, job);
  add_object_store(zone, job);
  for (int node = 1; node <= job.nodes; ++node) add_node(zone, job, node);
  if (job.nodes == 0)
    for (std::size_t site = 1; site <= job.sites.size(); ++site) add_site(zone, job, site);
  zone.hosts += "    <!-- Switches. -->\n";
  for (int node = 1; node <= job.nodes; ++node)
    zone.hosts += fmt::format("    <router id=\"node-{}\"/>\n", node);
  for (std::size_t site = 1; site <= job.sites.size(); ++site)
    zone.hosts += fmt::format("    <router id=\"site-{}\"/>\n", site);
  if (job.sites.size() > 1) {
    zone.hosts += "    <router id=\"internet\"/>\n";
    add_uplinks(zone, job);
  }
  return text + zone.hosts + zone.links + zone.routes + "  </zone>\n</platform>\n";
}

std::string experiment_text(const NewJob& job, const std::string& platform_file) {
  return fmt::format(
      "# {0}, written by `tandem init`. `tandem show --keys` lists every key, `tandem show --keys KEY` "
      "explains one.\n"
      "#   tandem show {0}.yaml         the experiment with all its defaults\n"
      "#   tandem simulate {0}.yaml     predicts how long it takes\n"
      "#   tandem study {0}.yaml        compares the variants below\n"
      "platform: {1}\n"
      "\n"
      "workload:\n"
      "  model: {2:<18}# tandem list model\n"
      "  dataset: {3:<16}# tandem list dataset\n"
      "  math: modelled           # real: also computes losses and accuracy, on this machine\n"
      "  batch: 32                # samples per worker and step\n"
      "  precision: fp32          # tf32, bf16, fp16: faster on the devices that have it (tandem list "
      "devices)\n"
      "\n"
      "{5}"
      "\n"
      "sync:\n"
      "{4}"
      "\n"
      "stop:\n"
      "  {6}\n"
      "\n"
      "variants:                  # each changes some keys: tandem simulate {0}.yaml --variant NAME\n"
      "{7}",
      job.name, platform_file, job.model + ' ', job.dataset + ' ', sync_text(job), placement_text(job),
      job.reads_samples() ? "epochs: 2                # a cache helps from the second one on" : "rounds: 50",
      variants_text(job));
}

}  // namespace tandem::cli

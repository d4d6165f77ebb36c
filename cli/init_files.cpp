#include "cli/init_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <regex>
#include <sstream>

#include "platforms/description.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/quantity_text.hpp"

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
  for (const auto& device : platforms::device_catalog())
    if (device.name == name) return device;
  const auto names = device_names();
  const std::string nearest = nearest_name(name, names);
  throw ConfigError(fmt::format("expected a device of `tandem list device`, found '{}'; {}", name,
                                nearest.empty() ? "begin with one of them and change the platform file: " +
                                                      std::string(platforms::device_of_ones_own)
                                                : "did you mean '" + nearest + "'?"));
}

/// "a100:2".
DeviceGroup parse_group(const std::string& text) {
  const auto colon = text.find(':');
  DeviceGroup group{.device = device_of(text.substr(0, colon)).name};
  if (colon == std::string::npos) return group;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, group.count);
  if (error != std::errc() || rest != end || group.count < 1 || group.count > most_devices)
    throw ConfigError(fmt::format(
        "expected DEVICE:COUNT with a count from 1 to {}, such as a100:2, found '{}'", most_devices, text));
  return group;
}

/// What SimGrid wants in this order.
struct ZoneText {
  std::string hosts;
  std::string links;
  std::string routes;
};

/// A host's link to the switch of its site.
void add_cable(ZoneText& zone, const NewJob& job, const std::string& host, const std::string& site) {
  zone.links += fmt::format(
      "    <link id=\"cable-{}\" bandwidth=\"{}\" latency=\"20us\" sharing_policy=\"SPLITDUPLEX\"/>\n", host,
      job.within);
  zone.routes += fmt::format(
      "    <route src=\"{0}\" dst=\"{1}\"><link_ctn id=\"cable-{0}\" direction=\"UP\"/></route>\n", host,
      site);
}

void add_server(ZoneText& zone, const NewJob& job) {
  zone.hosts += fmt::format(
      "    <!-- Holds the model, or coordinates the workers; its disk holds data and checkpoints. -->\n"
      "    <host id=\"server\" speed=\"28.8Gf\" core=\"64\">\n"
      "      <disk id=\"disk\" read_bw=\"{}\" write_bw=\"1GBps\"/>\n"
      "      <prop id=\"device\" value=\"epyc-7742\"/>\n"
      "      <prop id=\"memory\" value=\"256GiB\"/>\n"
      "    </host>\n",
      job.storage.empty() ? "2GBps" : job.storage);
  add_cable(zone, job, "server", "site-1");
}

/// One host per device, around the switch of its site.
void add_site(ZoneText& zone, const NewJob& job, std::size_t number) {
  const std::string site = fmt::format("site-{}", number);
  zone.hosts += fmt::format("    <!-- Site {}: every device is a host with a link of its own. -->\n", number);
  if (std::ranges::any_of(job.sites[number - 1],
                          [](const auto& group) { return device_of(group.device).is_gpu; }))
    zone.hosts +=
        "    <!-- Disks are assumed: an NVMe drive on PCIe 3.0 x4. They take the time of commits. -->\n";
  std::map<std::string, int> numbers;
  for (const auto& group : job.sites[number - 1])
    for (int i = 0; i < group.count; ++i) {
      const std::string name = fmt::format("{}-{}-{}", site, group.device, ++numbers[group.device]);
      zone.hosts += fmt::format(
          "    <host id=\"{}\" speed=\"{:.6g}Gf\" core=\"1\">{}<prop id=\"device\" value=\"{}\"/></host>\n",
          name, device_of(group.device).speed.count() * 1e-9,
          device_of(group.device).is_gpu ? nvme_drive : "", group.device);
      add_cable(zone, job, name, site);
    }
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

std::string placement_text(const NewJob& job) {
  std::string text =
      "placement:\n"
      "  servers: [server]        # workers: all other hosts of the platform\n";
  if (job.storage.empty()) return text;
  const auto whole_MB = [](double bytes) {
    return fmt::format("{}MB", std::max(1LL, std::llround(bytes * 1e-6)));
  };
  return text +
         fmt::format(
             "  cache_nodes: [server]    # read samples from their disk, and cache them for the workers\n"
             "\n"
             "data:\n"
             "  source: storage          # memory: each worker holds its samples\n"
             "  cache: lru               # tandem list cache\n"
             "  cache_capacity: {:<9}# memory of the server for samples; all of them have {}\n",
             whole_MB(static_cast<double>(job.dataset_size.count()) / 2) + ' ',
             whole_MB(static_cast<double>(job.dataset_size.count())));
}

/// Ways to exchange, or caches where storage is the question.
std::string variants_text(const NewJob& job) {
  if (!job.storage.empty())
    return "  no-cache: {data.cache_capacity: 0}\n"
           "  lru: {data.cache: lru}\n"
           "  minio: {data.cache: minio}\n"
           "  no-storage: {data.source: memory, data.cache_capacity: 0, placement.cache_nodes: []}   # if reading took no time\n";
  std::string text = "  as-above: {}\n";
  if (job.algorithm != "bsp") text += "  bsp: {sync.algorithm: bsp}\n";
  return text +
         "  local-sgd: {sync.algorithm: local-sgd, sync.options: {h: 8}}\n"
         "  ring: {sync.algorithm: bsp, sync.over: all-reduce, sync.collective: ring}\n";
}

}  // namespace

std::vector<std::vector<DeviceGroup>> parse_devices(const std::string& text, int sites) {
  std::vector<DeviceGroup> groups;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) groups.push_back(parse_group(word));
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
  if (!std::regex_match(text, bandwidth) || std::regex_match(text, zero))
    throw ConfigError("expected a bandwidth above 0 such as 1Gbps (bits) or 125MBps (bytes), found '" + text +
                      "'");
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
  for (std::size_t site = 1; site <= job.sites.size(); ++site) add_site(zone, job, site);
  zone.hosts += "    <!-- Switches. -->\n";
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
      "# {0}, written by `tandem init`. `tandem show --keys` lists every key, `tandem show --keys KEY` explains one.\n"
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
      "  algorithm: {4:<14}# tandem list sync\n"
      "{8}"
      "\n"
      "stop:\n"
      "  {6}\n"
      "\n"
      "variants:                  # each changes some keys: tandem simulate {0}.yaml --variant NAME\n"
      "{7}",
      job.name, platform_file, job.model + ' ', job.dataset + ' ', job.algorithm + ' ', placement_text(job),
      job.storage.empty() ? "rounds: 50" : "epochs: 2                # a cache helps from the second one on",
      variants_text(job),
      job.storage.empty() || job.algorithm != "bsp"
          ? ""
          : "  over: all-reduce         # server: through the server\n"
            "  collective: native       # as fast as the MPI library's own\n");
}

}  // namespace tandem::cli

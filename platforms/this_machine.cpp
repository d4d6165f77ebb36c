#include "platforms/this_machine.hpp"

#include <fmt/format.h>

#include "platforms/platform_writer.hpp"
#include "platforms/xml_text.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

std::string config_xml(const std::map<std::string, std::string>& config) {
  std::string xml;
  for (const auto& [flag, value] : config)
    if (flag.rfind("network/", 0) != 0 && flag.rfind("smpi/", 0) != 0)
      xml += fmt::format("    <prop id=\"{}\" value=\"{}\"/>\n", xml_text(flag), xml_text(value));
  return xml.empty() ? xml : "  <config>\n" + xml + "  </config>\n";
}

Disk disk_as_measured(const std::string& name, const MeasuredDisk& measured) {
  Disk disk{name, measured.read_rate, measured.write_rate, {}};
  if (measured.latency > Seconds(0))
    disk.properties["tandem:latency"] = fmt::format("{}s", measured.latency.count());
  if (measured.parallel > 1) disk.properties["tandem:parallel"] = std::to_string(measured.parallel);
  return disk;
}

/// All hosts around one switch; each of the two links of a route has half of the latency.
std::string star_xml(const std::string& comment, const Description& platform, const MeasuredNetwork& network,
                     const std::optional<MeasuredDisk>& disk) {
  TANDEM_CHECK(network.latency.count() > 0 && network.bandwidth.count() > 0, "latency",
               network.latency.count(), "bandwidth", network.bandwidth.count());
  const auto& hosts = platform.hosts;
  const std::string hub = free_name("switch", hosts);
  std::string xml;
  for (Host host : hosts) {
    if (disk)
      for (auto& own : host.disks) own = disk_as_measured(own.name, *disk);
    xml += host_xml(host);
  }
  xml += fmt::format("    <router id=\"{}\"/>\n", xml_text(hub));
  for (const auto& host : hosts)
    xml += link_xml("link-" + host.name, network.bandwidth, network.latency / 2.0, "SPLITDUPLEX");
  // Two ranks of one host communicate like two processes of this machine; different pairs do not share
  // bandwidth.
  xml += link_xml("loopback", network.bandwidth, network.latency, "FATPIPE");
  for (const auto& host : hosts) {
    const std::string name = xml_text(host.name);
    xml += fmt::format(
        "    <route src=\"{0}\" dst=\"{1}\"><link_ctn id=\"link-{0}\" direction=\"UP\"/></route>\n", name,
        xml_text(hub));
    xml += fmt::format(
        "    <route src=\"{0}\" dst=\"{0}\" symmetrical=\"NO\"><link_ctn id=\"loopback\"/></route>\n", name);
  }
  return platform_xml(comment, config_xml(platform.config), free_name("machine", hosts), hosts.size(), xml);
}

}  // namespace

std::string this_machine_xml(const MeasuredMachine& machine) {
  TANDEM_CHECK(machine.cores >= 1 && machine.core_speed.count() > 0 && machine.memory_rate.count() > 0,
               "cores", machine.cores, "speed", machine.core_speed.count(), "memory",
               machine.memory_rate.count());
  Description platform;
  Host& host = platform.hosts.emplace_back();
  host.name = "this-machine";
  host.cores = machine.cores;
  host.speed = machine.core_speed;
  if (machine.disk) host.disks = {disk_as_measured("disk", *machine.disk)};
  host.properties["tandem:memory_rate"] = fmt::format("{}", machine.memory_rate.count());
  const std::string comment =
      "This machine as measured: " + machine.name + ". Ranks share its cores. Written by: " + machine.command;
  return star_xml(comment, platform, machine.network, machine.disk);
}

std::string twin_xml(const Description& platform, const MeasuredNetwork& network,
                     const std::optional<MeasuredDisk>& disk) {
  const std::string comment =
      "The hosts of " + platform.file + " on the network of one machine, as measured there.";
  return star_xml(comment, platform, network, disk);
}

}  // namespace tandem::platforms

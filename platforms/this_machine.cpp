#include "platforms/this_machine.hpp"

#include <fmt/format.h>

#include <boost/property_tree/detail/xml_parser_utils.hpp>
#include <set>

#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

// SimGrid's Floyd routing costs n^3 when the file is loaded; beyond this many hosts routes are found when
// asked for.
constexpr std::size_t kFloydHosts = 100;

std::string escaped(const std::string& text) {
  return boost::property_tree::xml_parser::encode_char_entities(text);
}

std::string disk_xml(const Disk& disk) {
  return fmt::format("      <disk id=\"{}\" read_bw=\"{}Bps\" write_bw=\"{}Bps\"/>\n", escaped(disk.name),
                     disk.read_rate.count(), disk.write_rate.count());
}

std::string host_xml(const Host& host, const std::optional<MeasuredDisk>& measured) {
  std::string xml = fmt::format("    <host id=\"{}\" speed=\"{}f\" core=\"{}\">\n", escaped(host.name),
                                host.speed.count(), host.cores);
  for (const auto& disk : host.disks)
    xml += disk_xml(measured ? Disk{disk.name, measured->read_rate, measured->write_rate} : disk);
  for (const auto& [name, value] : host.properties)
    xml += fmt::format("      <prop id=\"{}\" value=\"{}\"/>\n", escaped(name), escaped(value));
  return xml + "    </host>\n";
}

std::string config_xml(const std::map<std::string, std::string>& config) {
  std::string xml;
  for (const auto& [flag, value] : config)
    if (flag.rfind("network/", 0) != 0 && flag.rfind("smpi/", 0) != 0)
      xml += fmt::format("    <prop id=\"{}\" value=\"{}\"/>\n", escaped(flag), escaped(value));
  return xml.empty() ? xml : "  <config>\n" + xml + "  </config>\n";
}

/// A name that no host has.
std::string free_name(const std::string& wanted, const std::vector<Host>& hosts) {
  std::set<std::string> taken;
  for (const auto& host : hosts) taken.insert(host.name);
  std::string name = wanted;
  while (taken.count(name) > 0) name += '_';
  return name;
}

/// All hosts around one switch; each of the two links of a route has half of the latency.
std::string star_xml(const std::string& comment, const Description& platform, const MeasuredNetwork& network,
                     const std::optional<MeasuredDisk>& disk) {
  TANDEM_CHECK(network.latency.count() > 0 && network.bandwidth.count() > 0, "latency",
               network.latency.count(), "bandwidth", network.bandwidth.count());
  const auto& hosts = platform.hosts;
  const std::string hub = free_name("switch", hosts);
  std::string xml =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n";
  xml += "<!-- " + comment + " -->\n<platform version=\"4.1\">\n" + config_xml(platform.config);
  xml += fmt::format("  <zone id=\"{}\" routing=\"{}\">\n", free_name("machine", hosts),
                     hosts.size() <= kFloydHosts ? "Floyd" : "DijkstraCache");
  for (const auto& host : hosts) xml += host_xml(host, disk);
  xml += fmt::format("    <router id=\"{}\"/>\n", escaped(hub));
  for (const auto& host : hosts)
    xml += fmt::format(
        "    <link id=\"link-{}\" bandwidth=\"{}Bps\" latency=\"{}s\" sharing_policy=\"SPLITDUPLEX\"/>\n",
        escaped(host.name), network.bandwidth.count(), network.latency.count() / 2.0);
  // Two ranks of one host communicate like two processes of this machine; different pairs do not share
  // bandwidth.
  xml += fmt::format(
      "    <link id=\"loopback\" bandwidth=\"{}Bps\" latency=\"{}s\" sharing_policy=\"FATPIPE\"/>\n",
      network.bandwidth.count(), network.latency.count());
  for (const auto& host : hosts) {
    const std::string name = escaped(host.name);
    xml += fmt::format(
        "    <route src=\"{0}\" dst=\"{1}\"><link_ctn id=\"link-{0}\" direction=\"UP\"/></route>\n", name,
        escaped(hub));
    xml += fmt::format(
        "    <route src=\"{0}\" dst=\"{0}\" symmetrical=\"NO\"><link_ctn id=\"loopback\"/></route>\n", name);
  }
  return xml + "  </zone>\n</platform>\n";
}

/// XML allows no two hyphens in a comment.
std::string comment_text(std::string text) {
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 1))
    text.replace(at, 2, "- -");
  return text;
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
  if (machine.disk) host.disks = {{"disk", machine.disk->read_rate, machine.disk->write_rate}};
  host.properties["tandem:memory_rate"] = fmt::format("{}", machine.memory_rate.count());
  const std::string comment = comment_text("This machine as measured: " + machine.name +
                                           ". Ranks share its cores. Written by: " + machine.command);
  return star_xml(comment, platform, machine.network, machine.disk);
}

std::string twin_xml(const Description& platform, const MeasuredNetwork& network,
                     const std::optional<MeasuredDisk>& disk) {
  const std::string comment =
      comment_text("The hosts of " + platform.file + " on the network of one machine, as measured there.");
  return star_xml(comment, platform, network, disk);
}

}  // namespace tandem::platforms

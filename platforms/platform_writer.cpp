#include "platforms/platform_writer.hpp"

#include <fmt/format.h>

#include <set>

#include "platforms/xml_text.hpp"

namespace tandem::platforms {

std::string comment_text(std::string text) {
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 1))
    text.replace(at, 2, "- -");
  return text;
}

std::string free_name(const std::string& wanted, const std::vector<Host>& hosts) {
  std::set<std::string> taken;
  for (const auto& host : hosts) taken.insert(host.name);
  std::string name = wanted;
  while (taken.count(name) > 0) name += '_';
  return name;
}

std::string host_xml(const Host& host) {
  std::string xml = fmt::format("    <host id=\"{}\" speed=\"{}f\" core=\"{}\">\n", xml_text(host.name),
                                host.speed.count(), host.cores);
  for (const auto& disk : host.disks) {
    xml += fmt::format("      <disk id=\"{}\" read_bw=\"{}Bps\" write_bw=\"{}Bps\"", xml_text(disk.name),
                       disk.read_rate.count(), disk.write_rate.count());
    std::string properties;
    for (const auto& [name, value] : disk.properties)
      properties += fmt::format("<prop id=\"{}\" value=\"{}\"/>", xml_text(name), xml_text(value));
    xml += properties.empty() ? "/>\n" : ">" + properties + "</disk>\n";
  }
  for (const auto& [name, value] : host.properties)
    xml += fmt::format("      <prop id=\"{}\" value=\"{}\"/>\n", xml_text(name), xml_text(value));
  return xml + "    </host>\n";
}

std::string link_xml(const std::string& name, BytesPerSecond bandwidth, Seconds latency,
                     const std::string& sharing) {
  return fmt::format("    <link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{}s\" sharing_policy=\"{}\"/>\n",
                     xml_text(name), bandwidth.count(), latency.count(), sharing);
}

std::string routing_for(std::size_t hosts) {
  constexpr std::size_t most_with_tables = 100;
  return hosts <= most_with_tables ? "Floyd" : "DijkstraCache";
}

std::string platform_xml(const std::string& comment, const std::string& config, const std::string& zone_name,
                         std::size_t hosts, const std::string& zone) {
  return "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<!-- " +
         comment_text(comment) + " -->\n<platform version=\"4.1\">\n" + config +
         fmt::format("  <zone id=\"{}\" routing=\"{}\">\n", xml_text(zone_name), routing_for(hosts)) + zone +
         "  </zone>\n</platform>\n";
}

}  // namespace tandem::platforms

#include "tests/platforms/platform_text.hpp"

namespace tandem::platforms {

TemporaryFile::TemporaryFile(const std::string& content, const std::string& name) : name_(name) {
  add(name, content);
}

void TemporaryFile::add(const std::string& name, const std::string& content) const {
  folder_.write(name, content);
}

std::string platform_xml(const std::string& body) {
  return "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n" +
         body + "</platform>\n";
}

std::string zone_xml(const std::string& routing, const std::string& body) {
  return platform_xml("<zone id=\"zone\" routing=\"" + routing + "\">\n" + body + "</zone>\n");
}

std::string cluster_xml(int hosts, const std::string& more) {
  // Not as the outermost zone, which not all versions of SimGrid load with a topology.
  const bool has_zone = more.find("topology=") != std::string::npos;
  return platform_xml((has_zone ? "<zone id=\"all\" routing=\"Full\">" : "") +
                      std::string("<cluster id=\"c\" prefix=\"n-\" radical=\"0-") +
                      std::to_string(hosts - 1) + "\" suffix=\"\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" " +
                      more + "/>" + (has_zone ? "</zone>" : "") + "\n");
}

std::string line_xml(int hosts) {
  std::string declared;
  std::string links;
  std::string routes;
  for (int i = 0; i < hosts; ++i) {
    const std::string self = std::to_string(i);
    const std::string next = std::to_string(i + 1);
    declared += "<host id=\"host-" + self + "\" speed=\"1Gf\"/>\n";
    if (i + 1 == hosts) break;
    links += "<link id=\"cable-" + self + "\" bandwidth=\"" + next +
             "GBps\" latency=\"10us\" sharing_policy=\"SPLITDUPLEX\"/>\n";
    routes += "<route src=\"host-" + self + "\" dst=\"host-" + next + "\"><link_ctn id=\"cable-" + self +
              "\" direction=\"UP\"/></route>\n";
  }
  return zone_xml("Floyd", declared + links + routes);
}

}  // namespace tandem::platforms

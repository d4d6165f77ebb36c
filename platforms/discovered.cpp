#include "platforms/discovered.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "platforms/platform_writer.hpp"
#include "platforms/xml_text.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

using discovery::Cable;
using discovery::Node;
using discovery::Tree;

/// Measurements have no more digits.
double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

class Writer {
 public:
  Writer(const std::vector<Host>& hosts, const Tree& tree) : hosts_(hosts), tree_(tree) {
    TANDEM_CHECK(hosts.size() == static_cast<std::size_t>(tree.machines), "hosts", hosts.size());
    for (const Host& host : hosts) names_.push_back(unique(host.name));
    core_ = unique("core");
    int number = 0;
    for (std::size_t node = hosts.size(); node < tree.nodes.size(); ++node) {
      const std::string& known = tree.nodes[node].name;
      names_.push_back(unique(known.empty() ? fmt::format("rack-{}", ++number) : known));
    }
  }

  std::string zone() const {
    std::string xml;
    for (Host host : hosts_) {
      host.speed = FlopsPerSecond(rounded(host.speed.count()));
      for (Disk& disk : host.disks)
        disk = {disk.name, BytesPerSecond(rounded(disk.read_rate.count())),
                BytesPerSecond(rounded(disk.write_rate.count())), disk.properties};
      xml += host_xml(host);
    }
    xml += router(core_);
    for (std::size_t node = hosts_.size(); node < names_.size(); ++node) xml += router(names_[node]);
    std::string routes;
    // A machine alone has no cable.
    for (std::size_t node = 0; node < names_.size() && hosts_.size() > 1; ++node)
      add_cable(node, xml, routes);
    for (std::size_t i = 0; i < tree_.loopbacks.size(); ++i) {
      const std::string name = "loopback-" + hosts_[i].name;
      xml += link_xml(name, BytesPerSecond(rounded(tree_.loopbacks[i].rate)),
                      Seconds(rounded(tree_.loopbacks[i].latency_s)), "FATPIPE");
      routes += route(hosts_[i].name, hosts_[i].name, name, "", false);
    }
    return xml + routes;
  }

 private:
  std::string unique(std::string name) {
    while (!taken_.insert(name).second) name += '_';
    return name;
  }
  static std::string router(const std::string& name) {
    return fmt::format("    <router id=\"{}\"/>\n", xml_text(name));
  }
  static std::string route(const std::string& from, const std::string& to, const std::string& link,
                           const std::string& direction, bool is_symmetrical) {
    return fmt::format("    <route src=\"{}\" dst=\"{}\"{}><link_ctn id=\"{}\"{}/></route>\n", xml_text(from),
                       xml_text(to), is_symmetrical ? "" : " symmetrical=\"NO\"", xml_text(link),
                       direction.empty() ? "" : fmt::format(" direction=\"{}\"", direction));
  }

  void add_cable(std::size_t node, std::string& links, std::string& routes) const {
    const Node& own = tree_.nodes[node];
    const Cable& cable = own.cable;
    const std::string& parent =
        own.parent == Node::core ? core_ : names_[static_cast<std::size_t>(own.parent)];
    const bool is_machine = node < hosts_.size();
    const std::string name = (is_machine ? "cable-" : "uplink-") + names_[node];
    const Seconds latency(rounded(cable.latency_s));
    // Both directions of most cables are equal; what differs less is the error of the measurement.
    constexpr double alike = 0.1;
    const double mean = (cable.up + cable.down) / 2;
    if (cable.is_shared || std::abs(cable.up - cable.down) < alike * mean) {
      links +=
          link_xml(name, BytesPerSecond(rounded(mean)), latency, cable.is_shared ? "SHARED" : "SPLITDUPLEX");
      routes += route(names_[node], parent, name, cable.is_shared ? "" : "UP", true);
      return;
    }
    links += link_xml(name + "-up", BytesPerSecond(rounded(cable.up)), latency, "SHARED");
    links += link_xml(name + "-down", BytesPerSecond(rounded(cable.down)), latency, "SHARED");
    routes += route(names_[node], parent, name + "-up", "", false);
    routes += route(parent, names_[node], name + "-down", "", false);
  }

  const std::vector<Host>& hosts_;
  const Tree& tree_;
  std::set<std::string> taken_;
  std::string core_;
  std::vector<std::string> names_;  ///< of the nodes
};

}  // namespace

std::string discovered_xml(const std::string& comment, const std::vector<Host>& hosts, const Tree& tree) {
  return platform_xml(comment, "", free_name("machines", hosts), hosts.size(), Writer(hosts, tree).zone());
}

}  // namespace tandem::platforms

// Sets and reports SimGrid's flags.
#include "sim/physics.hpp"

#include <simgrid/forward.h>
#include <simgrid/version.h>

#include <algorithm>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <memory>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/config.hpp>

#include "policies/vocabulary/check.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

/// Exact alpha-beta on each route and max-min sharing; one direction of a link does not disturb the other.
const std::map<std::string, std::string> defaults = {{"network/model", "CM02"},
                                                     {"network/crosstraffic", "0"},
                                                     {"network/TCP-gamma", "1e15"},
                                                     {"network/loopback-bw", "1e10"},
                                                     {"network/loopback-lat", "1e-6"}};

const Profile::NetworkSegment& segment_of(const std::vector<Profile::NetworkSegment>& segments, double size) {
  const auto above = std::upper_bound(segments.begin(), segments.end(), size,
                                      [](double bytes, const Profile::NetworkSegment& s) {
                                        return bytes < static_cast<double>(s.from_bytes);
                                      });
  return *std::prev(above);
}

double route_latency_s(const std::vector<s4u::Link*>& links) {
  double sum = 0;
  for (const s4u::Link* link : links) sum += link->get_latency();
  return sum;
}

double route_bandwidth(const std::vector<s4u::Link*>& links) {
  double lowest = links.front()->get_bandwidth();
  for (const s4u::Link* link : links) lowest = std::min(lowest, link->get_bandwidth());
  return lowest;
}

}  // namespace

std::map<std::string, std::string> platform_config(const std::string& platform_file) {
  namespace pt = boost::property_tree;
  pt::ptree document;
  try {
    pt::read_xml(platform_file, document, pt::xml_parser::no_comments);
  } catch (const pt::xml_parser_error& error) {
    throw ConfigError(platform_file + ":" + std::to_string(error.line()) +
                      ": expected a SimGrid platform XML file: " + error.message());
  }
  const auto platform = document.get_child_optional("platform");
  if (!platform) throw ConfigError(platform_file + ": expected a <platform> element at the top");
  std::map<std::string, std::string> config;
  for (const auto& [name, element] : *platform) {
    if (name != "config") continue;
    for (const auto& [child_name, child] : element)
      if (child_name == "prop")
        config[child.get<std::string>("<xmlattr>.id", "")] = child.get<std::string>("<xmlattr>.value", "");
  }
  return config;
}

void set_physics(const std::map<std::string, std::string>& own) {
  for (const auto& [flag, value] : defaults)
    if (!own.contains(flag)) s4u::Engine::set_config(flag + ":" + value);
}

void set_measured_network(const std::vector<Profile::NetworkSegment>& segments) {
  if (segments.empty()) return;
  if (segments.front().from_bytes > 0)
    throw ConfigError("measured network: the first segment must start at 0 bytes, found " +
                      std::to_string(segments.front().from_bytes));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i > 0 && segments[i].from_bytes <= segments[i - 1].from_bytes)
      throw ConfigError("measured network: segments must be sorted by from_bytes, found " +
                        std::to_string(segments[i].from_bytes) + " after " +
                        std::to_string(segments[i - 1].from_bytes));
    if (!(segments[i].alpha_s >= 0) || !(segments[i].beta_s > 0))
      throw ConfigError("measured network: expected alpha_s >= 0 and beta_s > 0 from " +
                        std::to_string(segments[i].from_bytes) + " bytes, found " +
                        std::to_string(segments[i].alpha_s) + " and " + std::to_string(segments[i].beta_s));
  }
  const auto shared = std::make_shared<const std::vector<Profile::NetworkSegment>>(segments);
  auto* const model = s4u::Engine::get_instance()->get_netzone_root()->get_network_model();
  try {
    model->set_lat_factor_cb(
        [shared](double size, const s4u::Host*, const s4u::Host*, const std::vector<s4u::Link*>& links,
                 const auto&) { return segment_of(*shared, size).alpha_s / route_latency_s(links); });
    model->set_bw_factor_cb(
        [shared](double size, const s4u::Host*, const s4u::Host*, const std::vector<s4u::Link*>& links,
                 const auto&) { return 1.0 / (segment_of(*shared, size).beta_s * route_bandwidth(links)); });
  } catch (const std::invalid_argument& error) {
    throw ConfigError(
        std::string("measured network: the platform file's <config> sets network factors too: ") +
        error.what());
  }
}

nlohmann::json report_physics(const std::map<std::string, std::string>& own,
                              const std::vector<Profile::NetworkSegment>& segments) {
  using simgrid::config::get_value;
  nlohmann::json flags = {
      {"network/model", get_value<std::string>("network/model")},
      {"network/crosstraffic", get_value<bool>("network/crosstraffic")},
      {"network/TCP-gamma", get_value<double>("network/TCP-gamma")},
      {"network/loopback-bw", get_value<double>("network/loopback-bw")},
      {"network/loopback-lat", get_value<double>("network/loopback-lat")},
      {"network/weight-S", get_value<double>("network/weight-S")},
      {"network/optim", get_value<std::string>("network/optim")},
      {"host/model", get_value<std::string>("host/model")},
      {"surf/precision", get_value<double>("surf/precision")},
  };
  for (const auto& [flag, value] : own)
    if (!flags.contains(flag)) flags[flag] = value;
  nlohmann::json measured = nlohmann::json::array();
  for (const auto& segment : segments)
    measured.push_back(
        {{"from_bytes", segment.from_bytes}, {"alpha_s", segment.alpha_s}, {"beta_s", segment.beta_s}});
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return {{"simulator", "SimGrid " + std::to_string(major) + "." + std::to_string(minor)},
          {"flags", flags},
          {"set_by_platform_file", own},
          {"network", segments.empty() ? "links of the platform file" : "measured segments"},
          {"measured_segments", measured},
          {"sharing", "max-min, weighted by the inverse of the route latency"}};
}

}  // namespace tandem::sim

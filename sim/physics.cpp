// Sets and reports SimGrid's flags.
#include "sim/physics.hpp"

#include <simgrid/forward.h>
#include <simgrid/version.h>

#include <algorithm>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/config.hpp>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

/// Exact alpha-beta on each route and max-min sharing; one direction of a link does not disturb the other.
const std::map<std::string, std::string> defaults = {{"network/model", "CM02"},
                                                     {"network/crosstraffic", "0"},
                                                     {"network/TCP-gamma", "1e15"},
                                                     {"network/loopback-bw", "1e10"},
                                                     {"network/loopback-lat", "1e-6"}};

const Profile::NetworkSegment& segment_of(const Profile::Path& path, double size) {
  const auto above = std::upper_bound(path.segments.begin(), path.segments.end(), size,
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

/// How unlike two ways are: bandwidths count by their ratio, the number of links breaks ties.
double unlikeness(const Profile::Path& path, double bandwidth, std::size_t links) {
  const double ratio = std::abs(std::log(path.bandwidth / bandwidth));
  return ratio + 1e-3 * std::abs(static_cast<double>(path.links) - static_cast<double>(links));
}

/// A message without any latency would get next to nothing of a link that it shares: SimGrid weighs messages
/// by the inverse of their route's latency, but those by 1.
constexpr double least_latency_s = 1e-8;

/// The measured paths, to be asked by route.
class MeasuredPaths {
 public:
  MeasuredPaths(std::vector<Profile::Path> paths, const std::optional<std::uint64_t>& noise_seed)
      : paths_(std::move(paths)) {
    if (noise_seed) random_ = Rng::stream(*noise_seed, "messages");
  }

  /// Factor on the route's latency.
  double latency_factor(bool within_a_host, double size, const std::vector<s4u::Link*>& links) {
    const auto* path = find(within_a_host, links);
    if (path == nullptr) return 1.0;
    const double seconds = segment_of(*path, size).alpha_s + draw_deviation_s(*path, size);
    return std::max(least_latency_s, seconds) / route_latency_s(links);
  }

  /// Factor on the bandwidth of the route's narrowest link.
  double bandwidth_factor(bool within_a_host, double size, const std::vector<s4u::Link*>& links) const {
    const auto* path = find(within_a_host, links);
    if (path == nullptr) return 1.0;
    const double measured_against = path->links > 0 ? path->bandwidth : route_bandwidth(links);
    return 1.0 / (segment_of(*path, size).beta_s * measured_against);
  }

 private:
  /// What a message takes more or less than usual: as one of the next larger size that was measured did.
  double draw_deviation_s(const Profile::Path& path, double size) {
    if (!random_ || path.messages.empty()) return 0.0;
    const auto above = std::lower_bound(path.messages.begin(), path.messages.end(), size,
                                        [](const Profile::MessageEntry& entry, double bytes) {
                                          return static_cast<double>(entry.bytes) < bytes;
                                        });
    const auto& nearest = above == path.messages.end() ? path.messages.back() : *above;
    if (nearest.raw_s.empty()) return 0.0;
    return nearest.raw_s[random_->below(nearest.raw_s.size())] - nearest.median_s;
  }

  const Profile::Path* find(bool within_a_host, const std::vector<s4u::Link*>& links) const {
    const Profile::Path* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& path : paths_) {
      if (path.links == 0 && (within_a_host || paths_.size() == 1)) return &path;
      if (path.links == 0 || within_a_host) continue;
      const double unlike = unlikeness(path, route_bandwidth(links), links.size());
      if (unlike >= least) continue;
      least = unlike;
      best = &path;
    }
    return best;
  }

  std::vector<Profile::Path> paths_;
  std::optional<Rng> random_;
};

void check_segments(const std::vector<Profile::NetworkSegment>& segments) {
  if (segments.empty() || segments.front().from_bytes > 0)
    throw ConfigError("measured network: the first segment must start at 0 bytes, found " +
                      (segments.empty() ? "none" : std::to_string(segments.front().from_bytes)));
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

void set_physics(const std::map<std::string, std::string>& own, std::size_t ranks) {
  constexpr std::size_t exactly_solved_ranks = 32;
  auto flags = defaults;
  if (ranks <= exactly_solved_ranks) flags["network/optim"] = "Full";
  for (const auto& [flag, value] : flags)
    if (!own.contains(flag)) s4u::Engine::set_config(flag + ":" + value);
}

void set_measured_network(const std::vector<Profile::Path>& paths,
                          const std::optional<std::uint64_t>& noise_seed) {
  if (paths.empty()) return;
  for (const auto& path : paths) {
    check_segments(path.segments);
    if (path.links > 0 && !(path.bandwidth > 0))
      throw ConfigError("measured network: the path from " + path.from + " to " + path.to +
                        " names links, but no bandwidth");
  }
  const auto shared = std::make_shared<MeasuredPaths>(paths, noise_seed);
  auto* const model = s4u::Engine::get_instance()->get_netzone_root()->get_network_model();
  try {
    model->set_lat_factor_cb([shared](double size, const s4u::Host* from, const s4u::Host* to,
                                      const std::vector<s4u::Link*>& links, const auto&) {
      return shared->latency_factor(from == to, size, links);
    });
    model->set_bw_factor_cb([shared](double size, const s4u::Host* from, const s4u::Host* to,
                                     const std::vector<s4u::Link*>& links, const auto&) {
      return shared->bandwidth_factor(from == to, size, links);
    });
  } catch (const std::invalid_argument& error) {
    throw ConfigError(
        std::string("measured network: the platform file's <config> sets network factors too: ") +
        error.what());
  }
}

nlohmann::json report_physics(const std::map<std::string, std::string>& own,
                              const std::vector<Profile::Path>& paths, Bytes eager_limit) {
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
  for (const auto& path : paths) {
    nlohmann::json segments = nlohmann::json::array();
    for (const auto& segment : path.segments)
      segments.push_back(
          {{"from_bytes", segment.from_bytes}, {"alpha_s", segment.alpha_s}, {"beta_s", segment.beta_s}});
    measured.push_back({{"links", path.links}, {"bandwidth", path.bandwidth}, {"segments", segments}});
  }
  const bool unlimited = eager_limit.count() == std::numeric_limits<std::int64_t>::max();
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return {{"simulator", "SimGrid " + std::to_string(major) + "." + std::to_string(minor)},
          {"flags", flags},
          {"set_by_platform_file", own},
          {"network", paths.empty() ? "links of the platform file" : "as measured"},
          {"measured_paths", measured},
          {"eager_limit", unlimited ? nlohmann::json() : nlohmann::json(eager_limit.count())},
          {"sharing", "max-min, weighted by the inverse of the route latency"}};
}

}  // namespace tandem::sim

// Sets and reports SimGrid's flags.
#include "sim/physics.hpp"

#include <fmt/format.h>
#include <simgrid/forward.h>
#include <simgrid/version.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/config.hpp>

#include "platforms/neighbours.hpp"
#include "platforms/platform_xml.hpp"
#include "platforms/simgrid_version.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

std::string exact(double value) { return fmt::format("{}", value); }

/// Exactly latency + size / bandwidth on each route, and max-min sharing; one direction of a link does not
/// slow the other down.
const std::map<std::string, std::string> defaults = {
    {"network/model", "CM02"},
    {"network/crosstraffic", "0"},
    {"network/TCP-gamma", "1e15"},
    {"network/loopback-bw", exact(platforms::undeclared_loopback_bandwidth.count())},
    {"network/loopback-lat", exact(platforms::undeclared_loopback_latency.count())}};

}  // namespace

std::map<std::string, std::string> platform_config(const std::string& platform_file) {
  return platforms::PlatformXml(platform_file).config();
}

void set_physics(const std::map<std::string, std::string>& own, std::size_t ranks) {
  constexpr std::size_t exactly_solved_ranks = 32;
  auto flags = defaults;
  if (ranks <= exactly_solved_ranks) flags["network/optim"] = "Full";
  for (const auto& [flag, value] : flags)
    if (!own.contains(flag)) s4u::Engine::set_config(flag + ":" + value);
}

std::string simulator_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return "SimGrid " + std::to_string(major) + "." + std::to_string(minor);
}

nlohmann::json report_physics(const std::map<std::string, std::string>& own,
                              const std::vector<Profile::Path>& paths, Bytes eager_limit,
                              const std::string& sharing) {
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
      {simgrid_version::precision_flag, get_value<double>(simgrid_version::precision_flag)},
  };
  for (const auto& [flag, value] : own)
    if (!flags.contains(flag)) flags[flag] = value;
  nlohmann::json measured = nlohmann::json::array();
  for (const auto& path : paths) {
    nlohmann::json segments = nlohmann::json::array();
    for (const auto& segment : path.segments)
      segments.push_back(
          {{"from_bytes", segment.from_bytes}, {"alpha_s", segment.alpha_s}, {"beta_s", segment.beta_s}});
    measured.push_back({{"between", {path.from_kind, path.to_kind}},
                        {"links", path.links},
                        {"bandwidth", path.bandwidth},
                        {"segments", segments},
                        {"held_bytes", path.held_bytes}});
  }
  const bool unlimited = eager_limit.count() == std::numeric_limits<std::int64_t>::max();
  return {{"simulator", simulator_version()},
          {"flags", flags},
          {"set_by_platform_file", own},
          {"network", paths.empty() ? "links of the platform file" : "as measured"},
          {"measured_paths", measured},
          {"eager_limit", unlimited ? nlohmann::json() : nlohmann::json(eager_limit.count())},
          {"sharing", sharing}};
}

}  // namespace tandem::sim

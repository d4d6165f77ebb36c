#include "sim/physics.hpp"

#include <fmt/format.h>
#include <simgrid/version.h>

namespace tandem::sim {
namespace {

struct Flag {
  const char* name;
  const char* value;
};

constexpr Flag defaults[] = {
    {"network/model", "CM02"},         // latency + size/bandwidth exactly, plain max-min sharing
    {"network/crosstraffic", "0"},     // links are switched and full duplex
    {"network/TCP-gamma", "1e15"},     // no window limit
    {"network/loopback-lat", "1e-6"},  // ranks on one host talk through memory
    {"network/loopback-bw", "1e10"},
};

}  // namespace

std::unique_ptr<simgrid::s4u::Engine> make_engine(const std::map<std::string, std::string>& own) {
  static char name[] = "tandem";
  static char quiet[] = "--log=root.thres:warning";
  static char* arguments[] = {name, quiet, nullptr};
  int count = 2;
  auto engine = std::make_unique<simgrid::s4u::Engine>(&count, arguments);
  for (const Flag& flag : defaults)
    if (!own.contains(flag.name))
      simgrid::s4u::Engine::set_config(fmt::format("{}:{}", flag.name, flag.value));
  return engine;
}

nlohmann::json effective_physics(const SimulationSetting& setting) {
  nlohmann::json physics;
  for (const Flag& flag : defaults) physics["flags"][flag.name] = flag.value;
  for (const auto& [name, value] : setting.platform_config) physics["flags"][name] = value;
  physics["from_platform_file"] = setting.platform_config;
  physics["simgrid"] = fmt::format("{}.{}", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR);
  physics["network"] = setting.network.empty() ? "platform" : "profile";
  for (const auto& segment : setting.network)
    physics["segments"].push_back(
        {{"from_bytes", segment.from_bytes}, {"alpha_s", segment.alpha_s}, {"beta_s", segment.beta_s}});
  return physics;
}

}  // namespace tandem::sim

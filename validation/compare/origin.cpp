#include "validation/compare/origin.hpp"

#include <fmt/format.h>

namespace tandem::validation {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Empty: not known.
NetworkOrigin network_of(const RunInfo& info) { return info.network.value_or(NetworkOrigin{}); }

}  // namespace

Origin origin_of(const RunInfo& simulated, const RunInfo& measured) {
  Origin origin;
  const std::string platform = file_name(simulated.experiment.platform);
  const auto differ = [&](const std::string& text) {
    origin.difference += (origin.difference.empty() ? "" : "; ") + text;
  };
  const std::string own = network_of(simulated).of, kind = network_of(measured).kind;
  if (own.empty() || kind.empty())
    origin.unknown = "whose network the messages used";
  else if (kind == "this machine" && own != "this machine")
    differ(fmt::format("the simulation used the links {}{}, the measurement this machine's own network",
                       own == "platform" ? "of " : "calibrated on the cluster of ", platform));
  else if (kind == "real cluster" && own != "real cluster")
    differ(fmt::format("the simulation used {}, the measurement the network between its machines",
                       own == "platform" ? "the links of " + platform
                       : own == "this machine"
                           ? "the calibrated machine's own network"
                           : "the links calibrated on the emulated cluster of " + platform));
  else if (kind == "emulated cluster" && (own == "this machine" || own == "real cluster"))
    differ(fmt::format(
        "the simulation used {}, the measurement the emulated cluster of {}",
        own == "this machine" ? "this machine's own network" : "the network between real machines",
        platform));
  if (simulated.devices.empty() || measured.devices.empty())
    origin.unknown += (origin.unknown.empty() ? "" : " and ") + std::string("whose devices computed");
  else if (simulated.devices == "catalogue" && measured.devices == "cpu")
    differ(fmt::format(
        "the simulated devices are as fast as {} and the device catalogue say, but this machine's "
        "own processors computed in the measurement",
        platform));
  return origin;
}

}  // namespace tandem::validation

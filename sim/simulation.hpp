// Runs a job's ranks as actors on a SimGrid platform under a simulated clock. One simulation a process,
// because SimGrid allows one engine a process.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/profile.hpp"

namespace tandem::sim {

struct SimulationSetting {
  std::string platform_file;
  std::map<std::string, std::string> platform_config;  ///< the file's own <config>, flag -> value
  std::vector<std::string> hosts;                      ///< by rank
  std::function<Seconds(Rank, const Work&)> price;     ///< of the work alone on the rank's device
  std::function<void(Context&)> body;                  ///< what each rank does
  /// Calibrated: a message takes alpha_s + size * beta_s of its segment, whatever the platform's links say;
  /// flows still share those links. Empty: the platform's own latencies and bandwidths.
  std::vector<Profile::NetworkSegment> network;
};

struct SimulationResult {
  Seconds makespan;        ///< when the last rank ended
  nlohmann::json physics;  ///< effective network model and flags
};

/// Errors: what a body throws; ConfigError for unknown hosts and missing routes; WorldError for a deadlock,
/// naming the ranks that are stuck and what each waits for.
SimulationResult simulate(const SimulationSetting& setting);

}  // namespace tandem::sim

// Jobs in closed form: the time of a round from prices and links, and the life of the job from its machines.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/jobs/simulation.hpp"
#include "platforms/description_network.hpp"
#include "workloads/priced/job_life.hpp"
#include "workloads/priced/prediction.hpp"

namespace tandem::cli {

inline constexpr const char* priced_fidelity = "priced";

/// Adds --fidelity with these values.
void add_fidelity_option(CLI::App& command, std::string& fidelity, const std::vector<std::string>& values);

/// The rounds of a job with any of its workers, each predicted once.
class RoundTimes {
 public:
  /// `network`: between all hosts of prediction; `of_workers`: as network_of_workers(). `are_alike`: workers
  /// differ in their names alone, so that only their number counts.
  RoundTimes(LoadedJob loaded, platforms::Network network, platforms::Network of_workers,
             bool are_alike = false);
  /// With the workers in these slots. Errors: ConfigError without a closed form.
  const priced::Prediction& with(std::vector<int> slots);

 private:
  LoadedJob loaded_;
  platforms::Network network_, of_workers_;
  bool are_alike_;
  std::map<std::vector<int>, priced::Prediction> known_;
};

/// simulate_job() with --fidelity priced. Errors: the same, and ConfigError for a job without a closed form.
Simulated simulate_priced(LoadedJob loaded, const SimulateOptions& options, const std::string& out);

}  // namespace tandem::cli

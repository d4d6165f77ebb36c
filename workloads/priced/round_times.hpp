// The times of the rounds of one job with any of its workers.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/description_network.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/priced/prediction.hpp"

namespace tandem::priced {

/// The rounds of a job with any of its workers, each predicted once.
class RoundTimes {
 public:
  /// `network`: between all hosts of prediction; `of_workers`: as network_of_workers(). Both must outlive it.
  /// `are_alike`: workers differ in their names alone, so that only their number counts.
  RoundTimes(Experiment experiment, platforms::Description platform, const platforms::Network& network,
             const platforms::Network& of_workers, bool are_alike = false);
  /// With the workers in these slots, at least one. Errors: ConfigError without a closed form.
  const Prediction& with(const std::vector<int>& slots);
  /// With so many workers, in the first slots.
  const Prediction& with_first(std::size_t workers);

 private:
  Experiment experiment_;
  platforms::Description platform_;
  const platforms::Network& network_;
  const platforms::Network& of_workers_;
  bool are_alike_;
  bool counts_updates_;
  std::map<std::vector<int>, Prediction> known_;  ///< by slots; where workers are alike, by their number
};

}  // namespace tandem::priced

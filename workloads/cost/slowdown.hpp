// Random slowdowns of an emulated device: some steps of its worker take longer. Independent of simulation and
// real run.
#pragma once

#include <cstdint>

#include "policies/vocabulary/rng.hpp"
#include "workloads/context.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// One per rank. Draws depend only on the experiment's seed and the rank, one per step, so that both worlds,
/// all repetitions and a resumed job have the same slow steps.
class Slowdown {
 public:
  Slowdown(const Experiment& experiment, Rank rank);
  /// Factor on the time of the next work. It is drawn with the first work of a step and kept until work of
  /// another step comes. Ranks whose work belongs to no step, such as servers, are never slow.
  double next(const Work& work);

 private:
  double probability_;
  double factor_;
  Rng random_;
  double of_step_ = 1.0;
  int drawn_ = 0;  ///< steps
};

}  // namespace tandem

// Random slowdowns of an emulated device: now and then a whole step of its worker takes longer. May not know
// the world.
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
  /// How many times as long the next work takes. A step is drawn with the first work that names it, and lasts
  /// until another step is named. Ranks whose work names no step, such as servers, are never slow.
  double next(const Work& work);

 private:
  double probability_;
  double factor_;
  Rng random_;
  double of_step_ = 1.0;
  int drawn_ = 0;  ///< steps
};

}  // namespace tandem

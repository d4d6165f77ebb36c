// Random slowdowns of an emulated device: now and then a whole step of its worker takes longer. May not know
// the world.
#pragma once

#include <cstdint>

#include "policies/vocabulary/rng.hpp"
#include "workloads/context.hpp"
#include "workloads/experiment.hpp"

namespace tandem {

/// One a rank. Draws are from the experiment's seed and the rank alone, one a step, so that both worlds and
/// all repetitions have the same slow steps.
class Slowdown {
 public:
  Slowdown(const Experiment& experiment, Rank rank);
  /// How many times as long the work that comes next takes. A step is drawn with its forward pass, and lasts
  /// until the next one; what begins with none, as on a server, is never slow.
  double next(const Work& work);

 private:
  double probability_;
  double factor_;
  Rng random_;
  double of_step_ = 1.0;
  int last_forward_ = -1;  ///< bucket of the last forward
};

}  // namespace tandem

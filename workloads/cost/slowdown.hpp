// Random slowdowns of an emulated device: now and then a whole step of its worker takes longer. May not know
// the world.
#pragma once

#include <cstdint>

#include "policies/vocabulary/rng.hpp"
#include "workloads/context.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// One a rank. Draws are from the experiment's seed and the rank alone, one a step, so that both worlds, all
/// repetitions and a job that goes on after a break have the same slow steps.
class Slowdown {
 public:
  Slowdown(const Experiment& experiment, Rank rank);
  /// How many times as long the work that comes next takes. A step is drawn with the first work that names
  /// it, and lasts until another one is named; who names none, as a server, is never slow.
  double next(const Work& work);

 private:
  double probability_;
  double factor_;
  Rng random_;
  double of_step_ = 1.0;
  int drawn_ = 0;  ///< steps
};

}  // namespace tandem

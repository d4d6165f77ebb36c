#include "workloads/cost/slowdown.hpp"

namespace tandem {

Slowdown::Slowdown(const Experiment& experiment, Rank rank)
    : probability_(experiment.run.slowdown_probability),
      factor_(experiment.run.slowdown_factor),
      random_(Rng::stream(experiment.seed, "slowdown", static_cast<std::uint64_t>(rank))) {}

double Slowdown::next(const Work& work) {
  // A resumed job skips the draws of earlier steps.
  for (; drawn_ <= work.step; ++drawn_) of_step_ = random_.uniform() < probability_ ? factor_ : 1.0;
  return of_step_;
}

}  // namespace tandem

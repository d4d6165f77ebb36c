#include "workloads/slowdown.hpp"

namespace tandem {

Slowdown::Slowdown(const Experiment& experiment, Rank rank)
    : probability_(experiment.run.slowdown_probability),
      factor_(experiment.run.slowdown_factor),
      random_(Rng::stream(experiment.seed, "slowdown", static_cast<std::uint64_t>(rank))) {}

double Slowdown::next(const Work& work) {
  if (work.kind != Work::Kind::forward) return of_step_;
  // A pass in pieces goes down to bucket 0.
  const bool begins = work.bucket < 0 || work.bucket >= last_forward_;
  last_forward_ = work.bucket;
  if (begins) of_step_ = random_.uniform() < probability_ ? factor_ : 1.0;
  return of_step_;
}

}  // namespace tandem

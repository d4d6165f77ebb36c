// The learning rate over the rounds of a job: warm-up, then a decay. Pure arithmetic, so that every copy of
// a model uses the same rate in the same round.
#pragma once

#include <cstdint>

#include "policies/vocabulary/choices.hpp"

namespace tandem {

/// The time of an update, in rounds and local steps.
struct UpdateTime {
  std::int64_t round = 0;  ///< rounds that ended before it
  int local_steps = 0;     ///< of the worker in this round before it
};

/// The factor on the learning rate. With r the rounds done, where a local step counts as its part of a round:
/// - warm-up (Goyal et al., arXiv:1706.02677): grows linearly, so that `warmup_rounds` later it is 1;
/// - step: times `step_factor` after every `step_every` rounds;
/// - cosine (Loshchilov and Hutter, ICLR 2017): from 1 at the end of the warm-up down to `cosine_floor` at
///   `cosine_rounds`, where it stays: floor + (1 - floor) (1 + cos(pi (r - warm-up) / (length - warm-up)))
///   / 2.
/// Pre: step_every > 0 with `step`, cosine_rounds > warmup_rounds with `cosine`.
struct RateSchedule {
  using Decay = RateDecay;
  Decay decay = Decay::constant;
  double warmup_rounds = 0.0;
  double step_every = 0.0;
  double step_factor = 1.0;
  double cosine_rounds = 0.0;
  double cosine_floor = 0.0;
  int steps_per_round = 1;  ///< of the worker or server; 0: varies, so the rate stays the same within a round

  double factor(UpdateTime time) const;
};

}  // namespace tandem

#include "workloads/model/rate_schedule.hpp"

#include <cmath>
#include <numbers>

namespace tandem {
namespace {

double decayed(const RateSchedule& schedule, double rounds) {
  switch (schedule.decay) {
    case RateSchedule::Decay::constant:
      return 1.0;
    case RateSchedule::Decay::step:
      return std::pow(schedule.step_factor, std::floor(rounds / schedule.step_every));
    case RateSchedule::Decay::cosine:
      break;
  }
  if (rounds <= schedule.warmup_rounds) return 1.0;
  if (rounds >= schedule.cosine_rounds) return schedule.cosine_floor;
  const double way = (rounds - schedule.warmup_rounds) / (schedule.cosine_rounds - schedule.warmup_rounds);
  return schedule.cosine_floor +
         (1.0 - schedule.cosine_floor) * (1.0 + std::cos(std::numbers::pi * way)) / 2.0;
}

}  // namespace

double RateSchedule::factor(UpdateTime time) const {
  const double step = steps_per_round > 0 ? 1.0 / steps_per_round : 1.0;
  double rounds = static_cast<double>(time.round);
  if (steps_per_round > 0) rounds += step * time.local_steps;
  // The first update is at most one step of the warm-up above zero.
  const double warm = rounds < warmup_rounds ? (rounds + step) / (warmup_rounds + step) : 1.0;
  return warm * decayed(*this, rounds);
}

}  // namespace tandem

// The learning rate and the batch for the number of workers that are present. Pure arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/vocabulary/choices.hpp"

namespace tandem::recovery {

/// The factor on the learning rate for `members` of `workers`; 1 if all are present. Pre: both at least 1.
/// Source: linear: Goyal et al., "Accurate, Large Minibatch SGD", 2017; inverse_sqrt, for asynchronous
/// training: Li, Walls, Guo, ICDCS 2020.
double rate_factor(RateScale rule, int workers, int members);

/// The factor after changes of the number of workers: in the rounds of the ramp it moves evenly to its new
/// value. Ranks that apply the same updates need the same state.
class RateRamp {
 public:
  /// `rounds`: number of rounds whose updates have factors between the two values; 0: none.
  explicit RateRamp(int rounds) : rounds_(rounds) {}
  /// The factor of an update of `round`; `target` is the factor for the present members. Pre: rounds do not
  /// decrease.
  double factor(double target, std::int64_t round);
  bool is_enabled() const { return rounds_ > 0; }

  struct State {
    double from = 1.0;
    double to = 1.0;
    std::int64_t since = 0;  ///< the round of the first update of the ramp
  };
  State& state() { return state_; }

 private:
  double at(std::int64_t round) const;

  int rounds_;
  State state_;
};

/// The rules of a job with departures for its learning rate and batch.
struct WorkerScaling {
  RateScale rate = RateScale::keep;
  BatchRule batch = BatchRule::keep;
  std::int64_t batch_size = 1;  ///< of each worker, where all are present
  int workers = 1;

  double rate_factor_of(int members) const { return rate_factor(rate, workers, members); }
  /// The samples per step of the member at this place, at least 1; 0: each keeps its batch.
  int batch_of(std::size_t place, int members) const;
};

/// Shape: samples per step of each member, in the order of their slots. keep: `batch` each; global: as evenly
/// as possible, larger shares first, together workers * batch. Pre: all at least 1. With more members than
/// samples, the last members have none.
std::vector<std::int64_t> batches(BatchRule rule, std::int64_t batch, int workers, int members);

}  // namespace tandem::recovery

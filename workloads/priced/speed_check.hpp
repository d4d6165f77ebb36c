// Compares the measured speed of a job with its closed form, and says what is suspected where it is slower.
#pragma once

#include <string>

#include "workloads/priced/prediction.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::priced {

struct SpeedCheck {
  double predicted_s = 0.0, measured_s = 0.0;  ///< of a step
  bool is_slow = false;                        ///< by more than a tenth
  std::string text;
};

/// "231 ms per step after the warm-up, predicted 210 ms (+10 %): ...". The prediction is that of the job on
/// its platform, the summary that of its run. Where the run is slower, the part of a step with the larger
/// excess, computing or exchange, is suspected. Pre: the run has steps after its warm-up.
SpeedCheck check_speed(const Prediction& found, const Summary& measured);

}  // namespace tandem::priced

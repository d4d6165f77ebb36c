// When a job ends: the first of the experiment's limits that is reached. Owned by one rank, so all agree.
#pragma once

#include <algorithm>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

struct Progress {
  std::int64_t rounds = 0;
  std::int64_t samples = 0;  ///< processed by all workers
  Seconds now;
};

/// Share of the way to the nearest limit; 1 or more: the job ends. `train_samples`: of the data set, one
/// epoch.
inline double fraction_done(const Experiment::Stop& stop, std::int64_t train_samples,
                            const Progress& progress) {
  double done = 0.0;
  if (stop.rounds > 0) done = static_cast<double>(progress.rounds) / static_cast<double>(stop.rounds);
  if (stop.epochs > 0.0) {
    const double epochs = static_cast<double>(progress.samples) / static_cast<double>(train_samples);
    done = std::max(done, epochs / stop.epochs);
  }
  if (stop.seconds > Seconds(0.0)) done = std::max(done, progress.now / stop.seconds);
  return done;
}

inline bool is_reached(const Experiment::Stop& stop, std::int64_t train_samples, const Progress& progress) {
  return fraction_done(stop, train_samples, progress) >= 1.0;
}

}  // namespace tandem

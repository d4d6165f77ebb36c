// Training with plain gradient steps, and helpers to reproduce it with a single learner that plays every
// worker, in double precision.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/sim/training.hpp"

namespace tandem::testing {

using Model = std::vector<double>;

/// The small job without momentum.
inline Experiment plain_experiment(int workers, double learning_rate) {
  Experiment experiment = small_experiment(workers);
  experiment.optimizer.momentum = 0.0;
  experiment.optimizer.learning_rate = learning_rate;
  return experiment;
}

class TrainingByHand : public Training {
 protected:
  Model initial() const {
    const auto values = initial_model(job_->replica_plan());
    return {values.begin(), values.end()};
  }
  static void descend(Model& model, const Model& gradient, double rate) {
    for (std::size_t i = 0; i < model.size(); ++i) model[i] -= rate * gradient[i];
  }
  /// In the precision of a job's final model.
  static std::vector<float> rounded(const Model& model) { return {model.begin(), model.end()}; }
};

}  // namespace tandem::testing

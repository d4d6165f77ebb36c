// When a job ends: at the first limit of the experiment that is reached. One rank decides, so all agree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

struct Progress {
  std::int64_t rounds = 0;
  std::int64_t samples = 0;  ///< processed by all workers
  Seconds now;
};

class StopRule {
 public:
  /// `train_samples`: of the data set, one epoch. `workers_count_epochs`: each worker ends when it has
  /// trained on its part of the epochs' lists; this rule only estimates the progress.
  StopRule(const Experiment::Stop& limits, std::int64_t train_samples, bool workers_count_epochs)
      : limits_(limits), train_samples_(train_samples), workers_count_epochs_(workers_count_epochs) {}

  /// Progress towards the nearest limit, as a share; 1 or more: the job ends.
  double fraction_done(const Progress& progress) const {
    double done = 0.0;
    if (limits_.rounds > 0) done = static_cast<double>(progress.rounds) / static_cast<double>(limits_.rounds);
    if (limits_.epochs > 0.0) {
      const double epochs = static_cast<double>(progress.samples) / static_cast<double>(train_samples_);
      const double share = epochs / limits_.epochs;
      done = std::max(done, workers_count_epochs_ ? std::min(share, almost_done) : share);
    }
    if (limits_.seconds > Seconds(0.0)) done = std::max(done, progress.now / limits_.seconds);
    return done;
  }
  bool is_reached(const Progress& progress) const { return fraction_done(progress) >= 1.0; }
  /// One of the limits is a time.
  bool has_time() const { return limits_.seconds > Seconds(0.0); }
  bool is_time_up(Seconds now) const { return has_time() && now >= limits_.seconds; }

  /// Notifies the listener. Called by the rank that decides.
  void report(const Progress& progress) const {
    if (listener_) listener_(fraction_done(progress));
  }
  /// `listener`: called with the fraction done, 0 to 1.
  void on_report(std::function<void(double)> listener) { listener_ = std::move(listener); }

 private:
  static constexpr double almost_done = 0.999;
  Experiment::Stop limits_;
  std::int64_t train_samples_;
  bool workers_count_epochs_;
  std::function<void(double)> listener_;
};

}  // namespace tandem

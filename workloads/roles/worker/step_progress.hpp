// The counters of a worker: its steps and rounds, and its work since its last exchange.
#pragma once

#include <cstdint>

#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/member_exchange.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

class StepProgress {
 public:
  /// `batch`: samples of the first batch.
  explicit StepProgress(int batch) : batch_(batch) {}

  int step() const { return step_; }        ///< steps finished
  int round() const { return round_; }      ///< exchanges finished
  int version() const { return version_; }  ///< of the model, after the last exchange
  int batch() const { return batch_; }      ///< samples of the next batch
  /// Local steps per round that the server granted last; 0: none yet.
  int granted_steps() const { return granted_steps_; }
  std::int64_t samples_taken() const { return samples_taken_; }
  /// Rounds of the job, and samples processed by all workers, at the last exchange.
  std::int64_t job_rounds() const { return job_rounds_; }
  std::int64_t job_samples() const { return job_samples_; }
  /// Steps since the last exchange.
  int local_steps() const { return local_steps_; }

  void take_batch(int samples) { samples_taken_ += samples; }
  /// Counts the gradient of a step over `samples` samples. `counts_loss`: its loss is part of the mean loss.
  void add_gradient(int samples, double loss, bool counts_loss);
  void end_step() { ++step_; }
  void end_exchange(const ExchangeResult& result);
  /// Continues with the counters of the job and of the worker's slot.
  void join(const Arrival& arrival, int steps);
  void grant(int local_steps) { granted_steps_ = local_steps; }
  /// The push of the work since the last exchange. `step_duration`: of the last step, without its exchange.
  protocol::Push push(Seconds step_duration) const;

  /// Pre: no step since the last exchange.
  void serialise(StateArchive& state);

 private:
  int step_ = 0;
  int round_ = 0;
  int version_ = 0;
  int batch_;
  int granted_steps_ = 0;
  std::int64_t samples_taken_ = 0;
  std::int64_t job_rounds_ = 0;
  std::int64_t job_samples_ = 0;
  int local_steps_ = 0;
  int samples_ = 0;      ///< since the last exchange, as the next two
  double losses_ = 0.0;  ///< sum
  int counted_losses_ = 0;
};

}  // namespace tandem

#include "workloads/roles/worker/step_progress.hpp"

#include <algorithm>
#include <limits>

namespace tandem {

void StepProgress::add_gradient(int samples, double loss, bool counts_loss) {
  ++local_steps_;
  samples_ += samples;
  if (!counts_loss) return;
  losses_ += loss;
  ++counted_losses_;
}

void StepProgress::end_exchange(const ExchangeResult& result) {
  version_ = result.version;
  if (result.batch > 0) batch_ = result.batch;
  job_rounds_ = result.rounds;
  job_samples_ = result.samples;
  round_ = result.is_fetched ? static_cast<int>(result.rounds) : round_ + 1;
  local_steps_ = 0;
  samples_ = 0;
  losses_ = 0.0;
  counted_losses_ = 0;
}

void StepProgress::join(const Arrival& arrival, int steps) {
  end_exchange(arrival.result);
  round_ = static_cast<int>(arrival.rounds);
  step_ = steps;
  samples_taken_ = arrival.samples;
}

protocol::Push StepProgress::push(Seconds step_duration) const {
  const bool has_no_loss = local_steps_ > 0 && counted_losses_ == 0;
  return {.samples = samples_,
          .local_steps = local_steps_,
          .duration = step_duration,
          .loss = has_no_loss ? std::numeric_limits<double>::quiet_NaN()
                              : losses_ / std::max(1, counted_losses_)};
}

void StepProgress::serialise(StateArchive& state) {
  state.number("round", round_);
  state.number("step", step_);
  state.number("version", version_);
  state.number("batch", batch_);
  state.number("local_steps", granted_steps_);
  state.number("samples_taken", samples_taken_);
  state.number("rounds", job_rounds_);
  state.number("samples", job_samples_);
}

}  // namespace tandem

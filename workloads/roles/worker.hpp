// The worker: takes batches, computes gradients, and synchronises as its policy says. Reads like the
// algorithm.
#pragma once

#include <memory>
#include <string>

#include "policies/sync/policy.hpp"
#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/deferred_update.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/loader.hpp"

namespace tandem {

class Worker {
 public:
  Worker(const Job& job, Context& context, Journal& journal, int index);
  void run();

 private:
  void step();
  sync::Beginning begin();
  void load();
  void begin_load();
  void drop_next_batch();
  void forward();
  Pending begin_backward(int bucket);
  void backward(const sync::Exchange* during);
  void on_non_finite(const std::string& flaw);
  void update(UpdateTime time);
  void decide();
  void exchange_after_step(const sync::Exchange& exchange);
  void finish_exchange(sync::Payload payload);
  void end_phase(Phase phase);
  void serialise(StateArchive& state);
  void save_state_if_due();
  void resume(int index);
  /// A checkpoint has the name of its writer's round; the others' are the same where rounds are common.
  std::int64_t round_of_checkpoints() const { return writes_checkpoints_ ? done_rounds_ : round_; }
  void grant(int local_steps);
  void log(const sync::WorkerEvent& event, std::string decisions);
  sync::WorkerDecision logged(const sync::WorkerEvent& event, sync::WorkerDecision decision);
  Contribution contribution() const;

  const Job& job_;
  Context& context_;
  Journal& journal_;
  Replica replica_;
  std::unique_ptr<sync::WorkerPolicy> policy_;
  std::unique_ptr<Exchange> exchange_;
  DeferredUpdate open_;  ///< what the last exchange has brought and is not taken over; see sync.overlap
  std::unique_ptr<Loader> loader_;
  CheckpointWriter checkpoints_;
  StateFiles states_;
  bool writes_checkpoints_;  ///< the first worker does where no server has the model: of its own
  bool has_own_model_;       ///< every worker does: models are what they exchange
  bool skip_non_finite_;     ///< where a step is not finite; otherwise it ends the job
  bool loads_ahead_;         ///< while the device computes
  bool queues_backward_;     ///< behind forward, before that is done

  int batch_;
  Pending loading_;  ///< of the next batch; empty: that is not had yet
  int loading_samples_ = 0;
  Pending first_pass_;     ///< of backward, where it is queued already
  int granted_steps_ = 0;  ///< local steps that the server last wanted; 0: never any
  std::int64_t samples_taken_ = 0;
  int round_ = 0;                  ///< of this worker
  std::int64_t done_rounds_ = 0;   ///< of the job, at the last exchange
  std::int64_t done_samples_ = 0;  ///< of all workers, by then
  int version_ = 0;
  int local_steps_ = 0;  ///< since the last exchange
  int samples_since_exchange_ = 0;
  double losses_since_exchange_ = 0.0;  ///< their sum
  int counted_losses_ = 0;              ///< of which it is the sum: under skip of finite ones
  bool skips_step_ = false;             ///< its gradient, or the rest of it, is left out
  Seconds step_duration_;               ///< of the last step without its exchange
  bool stopping_ = false;
  StepRecord record_;
  Seconds phase_start_;
};

}  // namespace tandem

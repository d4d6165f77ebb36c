// The worker: takes batches, computes gradients, and synchronises as its policy says. Reads like the
// algorithm.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/checkpoints.hpp"
#include "workloads/roles/link.hpp"
#include "workloads/roles/loader.hpp"
#include "workloads/roles/replica.hpp"
#include "workloads/roles/state_files.hpp"

namespace tandem {

class Worker {
 public:
  Worker(const Job& job, Context& context, Journal& journal, int index);
  void run();

 private:
  void step();
  void load(int step_samples);
  void forward();
  void backward(const sync::Exchange* during);
  void meet_flaw(const std::string& flaw);
  void update(UpdateTime time);
  void decide();
  void exchange_after_step(const sync::Exchange& exchange);
  void finish_exchange(sync::Payload payload);
  void take_over(int bucket);
  void take_over_all();
  bool checkpoint_has_come();
  void end_phase(Phase phase);
  void remember(StateArchive& state);
  void save_state_if_due();
  void go_on(int index);
  sync::WorkerDecision logged(const char* event, sync::WorkerDecision decision);
  Contribution contribution() const;

  const Job& job_;
  Context& context_;
  Journal& journal_;
  Replica replica_;
  std::unique_ptr<sync::WorkerPolicy> policy_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<Loader> loader_;
  CheckpointWriter checkpoints_;
  StateFiles states_;
  bool writes_checkpoints_;  ///< the first worker does where there is no server: of its own model

  bool overlaps_backward_;  ///< a bucket leaves as soon as it is complete
  bool overlaps_forward_;   ///< a layer waits for its own bucket only
  /// A finished exchange whose buckets are taken over during the next forward.
  struct OpenExchange {
    double sum_of;  ///< as in ExchangeResult
    UpdateTime time;
  };
  std::optional<OpenExchange> open_;
  std::int64_t whole_at_ = 0;  ///< the last round of a checkpoint
  Seconds taking_over_;        ///< the part of this step's forward that waited for buckets and adopted them

  bool has_own_model_;     ///< every worker does: models are what they exchange
  bool leaves_out_flaws_;  ///< where a step is not finite; otherwise it ends the job

  int batch_;
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

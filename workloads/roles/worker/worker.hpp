// The worker: takes batches, computes gradients, and synchronises as its policy decides. Reads like the
// algorithm.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "policies/sync/policy.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/deferred_update.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/member_exchange.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/cache_node_standing.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/batch_pipeline.hpp"
#include "workloads/roles/worker/step_progress.hpp"
#include "workloads/roles/worker/worker_checkpointing.hpp"
#include "workloads/roles/worker/worker_decisions.hpp"

namespace tandem {

/// Whether the occupant of a worker's slot joins a job that has begun. So does the first occupant of a slot
/// that is empty as the job begins. `incarnation`: in the numbers of this launch.
bool is_arrival(const Job& job, int index, int incarnation);

class Worker {
 public:
  /// The common state of the workers of a slot.
  struct Slot {
    RecordFiles* records = nullptr;     ///< to which this worker adds its records; null: it has its own
    CacheNodeStanding* node = nullptr;  ///< its cache node, if that may depart
  };
  /// The arguments must outlive it. `index`: among the workers. `incarnation`: in its slot. From the second
  /// one on, and in any slot for spares, a worker joins the job: it gets the state of training from the
  /// others, and the journal has the earlier steps of its slot.
  Worker(const Job& job, Context& context, Journal& journal, int index, int incarnation, Slot slot);
  Worker(const Job& job, Context& context, Journal& journal, int index)
      : Worker(job, context, journal, index, 1, {}) {}
  void run();
  /// Its machine has departed: records the step in progress, if its gradient was computed. Another worker
  /// does this one's part of the common work at the end.
  void record_interrupted_step();

 private:
  void follow_members();
  bool joins() const;
  void join();
  void step();
  void pass(const sync::Exchange& exchange);
  void end_step(bool is_taken);
  void load();
  Pending begin_launches();
  void forward();
  Pending begin_backward(int bucket);
  void bucket_ready(int bucket);
  void backward(const sync::Exchange* during, Seconds exchanging);
  void withdraw(int ready);
  void on_non_finite(const std::string& what);
  /// Waits until the work is done.
  void compute(const Work& work, Kernel kernel);
  void update(UpdateTime time);
  void await_launches(Pending& launched);
  void decide();
  void exchange_after_step(const sync::Exchange& exchange);
  void finish_exchange(sync::Payload payload);
  void end_phase(Phase phase);
  void end_job();
  void serialise(StateArchive& state);
  SavedState current_state();
  void resume(const Job& job, int index);
  void begin_after_restart();
  void grant(int local_steps);
  protocol::Push push_so_far() const { return progress_.push(step_duration_); }
  Bytes model_bytes() const { return replica_.description().bytes(); }

  const Job& job_;
  const ExchangePlan& plan_;
  const RankAssignment& assignment_;
  Context& context_;
  Journal& journal_;
  Replica replica_;
  WorkerDecisions decisions_;
  std::unique_ptr<Exchange> exchange_;
  MemberExchange* members_;  ///< null: all workers stay
  DeferredUpdate deferred_;  ///< the result of the last exchange, if the next forward overlaps with it
  BatchPipeline batches_;
  StepProgress progress_;
  WorkerCheckpointing checkpointing_;
  int incarnation_;
  bool skip_non_finite_;  ///< skip a step that is not finite; otherwise it ends the job
  bool queues_backward_;  ///< queues backward before forward has ended
  bool keeps_losses_;     ///< of samples, for the sampler or the records
  bool records_losses_;
  /// Epochs of the sampler's lists after which this worker ends; 0: no limit, or samples are counted for all
  /// workers.
  double epochs_;

  StepRecord record_;  ///< of the step in progress, with the bytes of rounds that were passed before it
  Seconds phase_start_;
  bool has_gradient_ = false;  ///< of the step in progress
  Pending first_pass_;         ///< of backward, if it is queued already
  bool skips_step_ = false;    ///< the gradient of the step is skipped, or the rest of it
  Seconds step_duration_;      ///< of the last step without its exchange
  WorkerCheckpointing::Ends ends_;
};

}  // namespace tandem

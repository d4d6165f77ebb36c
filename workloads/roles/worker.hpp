// The worker: takes batches, computes gradients, and synchronises as its policy decides. Reads like the
// algorithm.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "policies/sync/policy.hpp"
#include "workloads/checkpoint/accuracy_stop.hpp"
#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/checkpoint/commits.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/deferred_update.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/member_exchange.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/job.hpp"
#include "workloads/membership/cache_node_standing.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/batch_pipeline.hpp"
#include "workloads/roles/evaluation.hpp"
#include "workloads/roles/step_progress.hpp"

namespace tandem {

/// Whether the occupant of a worker's slot joins a job that has begun; the first occupant of a slot that is
/// empty as the job begins does, too. `incarnation`: as this launch counts.
bool is_arrival(const Job& job, int index, int incarnation);

class Worker {
 public:
  /// What the workers of a slot have in common.
  struct Slot {
    RecordFiles* records = nullptr;     ///< that this one's continue; null: it has its own
    CacheNodeStanding* node = nullptr;  ///< its cache node, if that may depart
  };
  /// The arguments must outlive it. `index`: among the workers.
  /// `incarnation`: in its slot. A later one than the first, and any in a slot for spares, joins the job: it
  /// takes the state of training from the others; the journal has the earlier steps of its slot.
  Worker(const Job& job, Context& context, Journal& journal, int index, int incarnation, Slot slot);
  Worker(const Job& job, Context& context, Journal& journal, int index)
      : Worker(job, context, journal, index, 1, {}) {}
  void run();
  /// Its machine has departed: records the step in progress, if its gradient was computed. What it has done
  /// for all at the end, another worker does again.
  void record_interrupted_step();

 private:
  void step();
  void follow_members();
  bool joins() const;
  void join();
  sync::StepBeginDecision begin();
  void load();
  void forward();
  Pending begin_backward(int bucket);
  void bucket_ready(int bucket);
  void backward(const sync::Exchange* during);
  void on_non_finite(const std::string& what);
  void update(UpdateTime time);
  void decide();
  std::optional<sync::Exchange> on_members(const sync::Members& event, bool decides_again);
  void do_last_duties();
  void exchange_after_step(const sync::Exchange& exchange);
  void finish_exchange(sync::Payload payload);
  void end_phase(Phase phase);
  void serialise(StateArchive& state);
  bool servers_wait_for_records() const;
  void note_records();
  bool ends_with_commit();
  void commit();
  SavedState current_state();
  void save_state_if_due();
  void save_checkpoint();
  void evaluate(std::int64_t round);
  void resume(const Job& job, int index);
  void begin_after_restart();
  RecordMark record_mark() const {
    return {.round = round_of_checkpoints(), .steps = progress_.step() - uncounted_steps_};
  }
  /// The round in the names of checkpoints and states. Where rounds are common, that of the writer and of
  /// every other worker are equal.
  std::int64_t round_of_checkpoints() const {
    return writes_checkpoints() ? progress_.job_rounds() : progress_.round();
  }
  std::optional<bool> leads() const { return members_ == nullptr ? std::nullopt : members_->leads(); }
  bool writes_checkpoints() const { return leads().value_or(writes_checkpoints_); }
  void restore_policy(const std::string& state);
  void log_restored(const std::string& state);
  void grant(int local_steps);
  void log(const sync::WorkerEvent& event, std::string decisions);
  sync::WorkerDecision logged(const sync::WorkerEvent& event, sync::WorkerDecision decision);
  protocol::Push push_so_far() const { return progress_.push(step_duration_); }

  const Job& job_;
  const ExchangePlan& plan_;
  const RankAssignment& assignment_;
  Context& context_;
  Journal& journal_;
  Replica replica_;
  std::unique_ptr<sync::WorkerPolicy> policy_;
  std::unique_ptr<Exchange> exchange_;
  MemberExchange* members_;  ///< null: all workers stay
  DeferredUpdate deferred_;  ///< the result of the last exchange, where forward overlaps with it
  BatchPipeline batches_;
  CheckpointWriter checkpoints_;
  AccuracyStop accuracy_stop_;
  StateFiles states_;
  std::optional<RecordFiles> own_records_;
  RecordFiles& records_;
  Commits commits_;
  std::optional<Evaluation> evaluation_;  ///< of this worker's own model
  CheckpointSchedule evaluations_;
  int incarnation_;
  bool writes_checkpoints_;  ///< unless the exchange says which worker does
  bool has_own_model_;       ///< every worker has: models are what they exchange
  bool skip_non_finite_;     ///< skip a step that is not finite; otherwise it ends the job
  bool queues_backward_;     ///< behind forward, before that is done
  bool keeps_losses_;        ///< of samples, for the sampler or the records
  bool records_losses_;
  /// Of the sampler's lists, after which this worker ends; 0: no limit, or samples are counted for all.
  double epochs_;

  StepProgress progress_;
  std::int64_t uncounted_steps_ = 0;  ///< of earlier workers in its slot, that the servers have not counted
  std::int64_t heard_commit_ = 0;     ///< the last one that a reply announced
  std::int64_t noted_commit_ = 0;     ///< the last of these up to which records were written
  StepRecord record_;                 ///< of the step in progress
  /// After which the policy has decided last, about an exchange.
  std::variant<sync::StepBegin, sync::StepDone, sync::Answer> asked_;
  Seconds phase_start_;
  bool has_gradient_ = false;    ///< of the step in progress
  Pending first_pass_;           ///< of backward, where it is queued already
  bool skips_step_ = false;      ///< the gradient, or the rest of it, is skipped
  Seconds step_duration_;        ///< of the last step without its exchange
  bool exchange_stops_ = false;  ///< the job ends, as the last exchange said
  bool stopping_ = false;
};

}  // namespace tandem

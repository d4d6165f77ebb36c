// The files and evaluations of a worker: checkpoints, states, records, and its part of commits. Which worker
// writes the model may change with the members.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "workloads/checkpoint/accuracy_stop.hpp"
#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/checkpoint/commits.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/member_exchange.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/evaluation.hpp"
#include "workloads/roles/worker/step_progress.hpp"
#include "workloads/roles/worker/worker_records.hpp"

namespace tandem {

class WorkerCheckpointing {
 public:
  struct Of {
    const StepProgress& progress;
    Replica& replica;
    MemberExchange* members;            ///< null: all workers stay
    std::function<SavedState()> state;  ///< of the worker, between an exchange and the next step
  };
  /// `records`: see WorkerRecords. The arguments must outlive it.
  WorkerCheckpointing(const Job& job, Context& context, Journal& journal, RecordFiles* records, Of of);

  Commits& commits() { return commits_; }
  /// The round in the names of checkpoints and states. If all workers finish the same rounds, it is the same
  /// for all.
  std::int64_t round() const;

  /// The worker joins a job that has begun. `uncounted_steps`: see WorkerRecords::leave_out.
  void join(std::int64_t uncounted_steps);
  /// A reply has announced this commit.
  void learn(std::int64_t commit);

  /// Why the job ends for this worker.
  struct Ends {
    bool now = false;          ///< after this step
    bool by_exchange = false;  ///< as the last exchange said
  };
  /// Before the next step of a job that starts again: evaluates the checkpoint from which it starts, if it
  /// must. True: the job ends by its accuracy.
  bool is_reached_at_restart(const Ends& ends);
  /// A step has ended. True: the job ends with the commit after it.
  bool ends_with_commit(const Ends& ends);
  /// A commit follows the step.
  bool is_commit_due() const;
  /// Writes what follows the step, and evaluates. True: the job ends by its accuracy.
  bool is_reached_after_step(const Ends& ends, bool commits);
  /// After the last step.
  void note_end() { records_.note_end(mark(), commits_.line()); }
  /// When all workers have ended: does the work that one of them does for all.
  void do_last_duties(const Ends& ends);
  /// See Worker::record_interrupted_step. `has_gradient`: the step in progress has one.
  void note_interrupted(bool has_gradient);

 private:
  std::optional<bool> leads() const { return of_.members == nullptr ? std::nullopt : of_.members->leads(); }
  bool writes_checkpoints() const { return leads().value_or(context_.rank() == job_.checkpoints().writer); }
  /// Every worker has a model of its own: workers exchange models.
  bool has_own_model() const { return job_.exchange().payload() == sync::Payload::model; }
  RecordMark mark() const { return records_.mark(round(), of_.progress.step()); }
  void commit(const Ends& ends);
  void save_state_if_due();
  void save_checkpoint(const Ends& ends);
  void evaluate(std::int64_t round, const Ends& ends);

  const Job& job_;
  Context& context_;
  Journal& journal_;
  Of of_;
  CheckpointWriter checkpoints_;
  AccuracyStop accuracy_stop_;
  StateFiles states_;
  WorkerRecords records_;
  Commits commits_;
  std::optional<Evaluation> evaluation_;  ///< of this worker's own model
  CheckpointSchedule evaluations_;
};

}  // namespace tandem

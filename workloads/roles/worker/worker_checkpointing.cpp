#include "workloads/roles/worker/worker_checkpointing.hpp"

#include <utility>
#include <vector>

namespace tandem {

WorkerCheckpointing::WorkerCheckpointing(const Job& job, Context& context, Journal& journal,
                                         RecordFiles* records, Of of)
    : job_(job),
      context_(context),
      journal_(journal),
      of_(std::move(of)),
      checkpoints_(job, context),
      accuracy_stop_(job, context),
      states_(job, context.rank()),
      records_(job, context, journal, records),
      commits_(job, context, journal,
               [&context, members = of_.members](Pending& until) {
                 return members == nullptr ? context.wait(until) : members->wait_or_regroup(until);
               }),
      evaluations_(job.checkpoints().schedule()) {
  if (job.checkpoints().evaluator == context.rank()) evaluation_.emplace(job, context, journal);
}

std::int64_t WorkerCheckpointing::round() const {
  return writes_checkpoints() ? of_.progress.job_rounds() : of_.progress.round();
}

void WorkerCheckpointing::join(std::int64_t uncounted_steps) {
  records_.leave_out(uncounted_steps);
  checkpoints_.leave_out(of_.progress.job_rounds());
  evaluations_.begin_again(of_.progress.job_rounds());
}

void WorkerCheckpointing::learn(std::int64_t commit) {
  commits_.learn(commit);
  records_.learn(commit);
}

bool WorkerCheckpointing::is_reached_at_restart(const Ends& ends) {
  if (evaluation_ && checkpoint_of_restart(job_)) {
    const auto at_restart = evaluations_at_restart(job_, job_.roster().assignment(context_.rank()));
    if (!at_restart.accuracy)
      evaluate(round(), ends);
    else if (job_.checkpoints().stop_accuracy > 0.0)
      accuracy_stop_.note_verdict(evaluation_->announce(*at_restart.accuracy));
  }
  return accuracy_stop_.is_reached_at_restart();
}

bool WorkerCheckpointing::ends_with_commit(const Ends& ends) {
  if (of_.progress.local_steps() > 0) {
    commits_.step_done();
    return false;
  }
  // Otherwise not all workers end at the same round, or a reply announces the end.
  const Experiment::Stop& limits = job_.spec().experiment.stop;
  const bool is_last = ends.now && job_.exchange().route() != sync::Route::server &&
                       limits.seconds == Seconds(0) && limits.accuracy == 0.0;
  commits_.round_done(round(), job_.exchange().sync_setting().workers, is_last);
  return commits_.ends_job_after(round());
}

bool WorkerCheckpointing::is_commit_due() const {
  return of_.progress.local_steps() == 0 && commits_.is_due(round());
}

bool WorkerCheckpointing::is_reached_after_step(const Ends& ends, bool commits) {
  if (commits) commit(ends);
  save_state_if_due();
  const bool is_last_mean = ends.now && has_own_model();
  if (!is_last_mean && checkpoints_.is_due(of_.progress.job_rounds())) save_checkpoint(ends);
  if (!is_last_mean && evaluations_.has_passed(round())) evaluate(round(), ends);
  return !ends.now && accuracy_stop_.is_reached_after(round());
}

void WorkerCheckpointing::do_last_duties(const Ends& ends) {
  if (!writes_checkpoints()) return;
  std::vector<std::int64_t> applied;
  if (of_.members != nullptr) applied = of_.members->applied_samples();
  for (std::size_t worker = 0; worker < applied.size(); ++worker)
    if (applied[worker] > 0 && !has_own_model())
      journal_.note_applied(job_.roster().workers()[worker], 0, applied[worker]);
  const std::int64_t rounds = of_.progress.job_rounds();
  if (leads()) journal_.counted_rounds = rounds;
  // The final model is the mean of all where each worker has a model of its own.
  if (has_own_model() && checkpoints_.is_enabled()) {
    save_checkpoint(ends);
    evaluate(rounds, ends);
  }
  checkpoints_.finish(rounds, of_.replica.values());
}

void WorkerCheckpointing::note_interrupted(bool has_gradient) {
  records_.note_interrupted(mark(), of_.progress.local_steps(), has_gradient ? 1 : 0);
}

void WorkerCheckpointing::save_state_if_due() {
  if (of_.progress.local_steps() > 0) return;
  if (!states_.is_due(round())) return records_.note(mark(), commits_.line());
  records_.save(mark());
  states_.save(round(), of_.state());
}

void WorkerCheckpointing::commit(const Ends& ends) {
  const bool is_evaluated = checkpoints_.is_due(of_.progress.job_rounds());
  if (is_evaluated && writes_checkpoints())
    checkpoints_.note_due(of_.progress.job_rounds(), of_.progress.job_samples());
  commits_.begin(round());
  PartOfCommit part{.is_whole = records_.try_save(mark())};
  if (commits_.own().has_files()) part.state = of_.state();
  if (writes_checkpoints()) {
    const auto values = of_.replica.values();
    part.model.assign(values.begin(), values.end());
  }
  part.model_stays = is_evaluated || (ends.now && has_own_model());
  commits_.write(std::move(part));
}

void WorkerCheckpointing::save_checkpoint(const Ends& ends) {
  const StepProgress& progress = of_.progress;
  // Another worker may get this duty later.
  if (!writes_checkpoints()) return checkpoints_.leave_out(progress.job_rounds());
  checkpoints_.save(progress.job_rounds(), progress.job_samples(), of_.replica.values(), ends.now);
}

/// In this worker's own time: its next step, and the ranks that decide by the accuracy, wait.
void WorkerCheckpointing::evaluate(std::int64_t round, const Ends& ends) {
  evaluations_.begin_again(round);
  if (!evaluation_) return;
  const double accuracy = evaluation_->evaluate(
      {.round = round, .samples = of_.progress.job_samples(), .taken = context_.now()}, [this] {
        const auto values = of_.replica.values();
        return std::vector<float>(values.begin(), values.end());
      });
  if (of_.progress.local_steps() == 0) records_.save(mark());
  // A server waits for the verdict unless it has ended the job itself.
  const bool has_ended = job_.exchange().route() == sync::Route::server ? ends.by_exchange : ends.now;
  if (!has_ended) accuracy_stop_.note_verdict(evaluation_->announce(accuracy));
}

}  // namespace tandem

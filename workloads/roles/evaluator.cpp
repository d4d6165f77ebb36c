#include "workloads/roles/evaluator.hpp"

#include <algorithm>
#include <vector>

#include "workloads/checkpoint/checkpoints.hpp"

namespace tandem {
namespace {

/// Where a worker writes checkpoints and may depart, another one does afterwards.
std::vector<Rank> writers_of(const Job& job) {
  const auto workers = job.roster().workers();
  const Rank writer = job.checkpoints().writer;
  const bool moves = job.roster().steward() && std::ranges::count(workers, writer) > 0;
  return moves ? std::vector<Rank>(workers.begin(), workers.end()) : std::vector<Rank>{writer};
}

}  // namespace

Evaluator::Evaluator(const Job& job, Context& context, Journal& journal)
    : job_(job),
      model_(*job.replica_plan().description),
      checkpoints_(job.checkpoints()),
      disk_(job.devices().disk_of(context.rank())),
      context_(context),
      evaluation_(job, context, journal),
      records_(job, context.rank(), journal) {}

void Evaluator::run() {
  evaluate_missing();
  std::vector<Rank> writers = writers_of(job_);
  std::vector<Pending> next;
  for (const Rank writer : writers) next.push_back(protocol::receive<"checkpoints">(context_, writer));
  while (true) {
    const Completion arrived = context_.wait_any(next);
    if (protocol::as<protocol::End>(arrived.note)) break;
    next[arrived.index] = protocol::receive<"checkpoints">(context_, writers[arrived.index]);
    evaluate(protocol::unpack<protocol::Checkpoint>(arrived.note));
  }
  context_.cancel_all(next);
  context_.wait_all(next);
}

void Evaluator::evaluate(const protocol::Checkpoint& checkpoint) {
  if (disk_) {
    Pending reading = context_.read(*disk_, model_.bytes());
    context_.wait(reading);
  }
  const double accuracy = evaluation_.evaluate(
      {.round = checkpoint.round, .samples = checkpoint.samples, .taken = checkpoint.taken}, [&] {
        return load_checkpoint(checkpoint_path(checkpoints_.directory, checkpoint.round), model_).values;
      });
  records_.save({.round = checkpoint.round});
  if (checkpoint.decides) evaluation_.announce(accuracy);
}

/// Where the job has started again: checkpoints of earlier generations that this rank had not evaluated when
/// it died. Ranks that end the job at an accuracy wait for that of the last one.
void Evaluator::evaluate_missing() {
  const auto at_restart = evaluations_at_restart(job_, job_.roster().assignment(context_.rank()));
  for (const AnnouncedCheckpoint& checkpoint : at_restart.missing)
    evaluate({.round = checkpoint.round,
              .samples = checkpoint.samples,
              .taken = checkpoint.taken - job_.generation()->began,
              .decides = checkpoint.round == job_.resume()->round && checkpoints_.stop_accuracy > 0.0});
  if (at_restart.accuracy && checkpoints_.stop_accuracy > 0.0) evaluation_.announce(*at_restart.accuracy);
}

}  // namespace tandem

#include "workloads/roles/evaluator.hpp"

#include "workloads/checkpoint/checkpoints.hpp"

namespace tandem {

Evaluator::Evaluator(const Job& job, Context& context, Journal& journal)
    : model_(*job.replica_plan().description),
      checkpoints_(job.checkpoints()),
      disk_(job.devices().disk_of(context.rank())),
      context_(context),
      evaluation_(job, context, journal) {}

void Evaluator::run() {
  while (true) {
    Pending next = context_.receive(checkpoints_.writer, protocol::checkpoints, {});
    const Note note = context_.wait(next).note;
    if (protocol::holds<protocol::End>(note)) return;
    evaluate(protocol::unpack<protocol::Checkpoint>(note));
  }
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
  if (checkpoint.decides) evaluation_.announce(accuracy);
}

}  // namespace tandem

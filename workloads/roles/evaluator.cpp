#include "workloads/roles/evaluator.hpp"

#include <algorithm>
#include <limits>

#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

Evaluator::Evaluator(const Job& job, Context& context, Journal& journal)
    : model_(job.replica_plan()),
      data_(job.data()),
      checkpoints_(job.checkpoints()),
      disk_(job.devices().disk_of(context.rank())),
      context_(context),
      journal_(journal),
      learner_(model_.real_math ? make_job_learner(model_, context.device()) : nullptr) {}

void Evaluator::run() {
  while (true) {
    Pending next = context_.receive(checkpoints_.writer, protocol::checkpoints, {});
    const Note note = context_.wait(next).note;
    if (protocol::holds<protocol::End>(note)) return;
    evaluate(protocol::unpack<protocol::Checkpoint>(note));
  }
}

void Evaluator::evaluate(const protocol::Checkpoint& checkpoint) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  EvaluationResult result{unknown, unknown};
  Kernel kernel;
  if (learner_)
    kernel = [&] {
      const Checkpoint model =
          load_checkpoint(checkpoint_path(checkpoints_.directory, checkpoint.round), *model_.description);
      copy_and_await(context_.device(), learner_->model().data(), model.values.data(),
                     learner_->model().size_bytes());
      result = learner_->evaluate(data_.dataset()->records(Dataset::Part::test));
    };
  if (disk_) {
    Pending reading = context_.read(*disk_, model_.description->bytes());
    context_.wait(reading);
  }
  const auto samples = static_cast<int>(data_.info().test_samples);
  Pending pass = context_.compute({.kind = Work::Kind::evaluate, .samples = samples}, std::move(kernel));
  context_.wait(pass);
  journal_.evaluations.push_back({.round = checkpoint.round,
                                  .samples = checkpoint.samples,
                                  .checkpoint_time = checkpoint.taken,
                                  .time = context_.now(),
                                  .accuracy = result.accuracy,
                                  .loss = result.loss});
  if (!checkpoint.decides) return;
  const protocol::Verdict verdict{.reached = result.accuracy >= checkpoints_.stop_accuracy};
  for (const Rank decider : checkpoints_.accuracy_deciders) {
    Pending sent = context_.send(decider, protocol::verdicts, {}, protocol::pack(verdict));
    context_.wait(sent);
  }
}

}  // namespace tandem

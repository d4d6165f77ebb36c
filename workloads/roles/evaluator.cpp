#include "workloads/roles/evaluator.hpp"

#include <algorithm>
#include <limits>

#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

Evaluator::Evaluator(const Job& job, Context& context, Journal& journal)
    : job_(job),
      context_(context),
      journal_(journal),
      learner_(job.real_math() ? make_job_learner(job, context.device()) : nullptr) {}

void Evaluator::run() {
  // The first of those who hold the model writes the checkpoints, and announces their end.
  const Rank writer =
      job_.ranks_of(job_.servers_hold_model() ? RankAssignment::Role::server : RankAssignment::Role::worker)
          .front();
  while (true) {
    Pending next = context_.receive(writer, protocol::checkpoints, {});
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
      const Checkpoint model = load_checkpoint(checkpoint_path(job_, checkpoint.round), job_.model());
      copy_and_await(context_.device(), learner_->model().data(), model.values.data(),
                     learner_->model().size_bytes());
      result = learner_->evaluate(job_.dataset()->records(Dataset::Part::test));
    };
  if (!job_.host_of(context_.rank()).disks.empty()) {
    Pending reading = context_.read(0, job_.model().bytes());
    context_.wait(reading);
  }
  const auto samples = static_cast<int>(job_.dataset_info().test_samples);
  Pending pass = context_.compute({.kind = Work::Kind::evaluate, .samples = samples}, std::move(kernel));
  context_.wait(pass);
  journal_.evaluations.push_back({.round = checkpoint.round,
                                  .samples = checkpoint.samples,
                                  .checkpoint_time = checkpoint.taken,
                                  .time = context_.now(),
                                  .accuracy = result.accuracy,
                                  .loss = result.loss});
}

}  // namespace tandem

#include "workloads/roles/evaluation.hpp"

#include <limits>
#include <utility>

#include "workloads/exchange/replica.hpp"
#include "workloads/protocol.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

Evaluation::Evaluation(const Job& job, Context& context, Journal& journal)
    : data_(job.data()),
      checkpoints_(job.checkpoints()),
      context_(context),
      journal_(journal),
      learner_(job.real_math() ? make_job_learner(job.replica_plan_of_arrival(), context.device())
                               : nullptr) {}

double Evaluation::evaluate(const Subject& subject, const std::function<std::vector<float>()>& values) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  EvaluationResult result{unknown, unknown};
  Kernel kernel;
  if (learner_)
    kernel = [&] {
      const std::vector<float> model = values();
      copy_and_await(context_.device(), learner_->model().data(), model.data(),
                     learner_->model().size_bytes());
      result = learner_->evaluate(data_.dataset()->records(Dataset::Part::test));
    };
  const auto samples = static_cast<int>(data_.info().test_samples);
  Pending pass = context_.compute({.kind = Work::Kind::evaluate, .samples = samples}, std::move(kernel));
  context_.wait(pass);
  journal_.evaluations.push_back({.round = subject.round,
                                  .samples = subject.samples,
                                  .checkpoint_time = subject.taken,
                                  .time = context_.now(),
                                  .accuracy = result.accuracy,
                                  .loss = result.loss,
                                  .top5_accuracy = result.top5_accuracy});
  return result.accuracy;
}

bool Evaluation::announce(double accuracy) {
  const protocol::Verdict verdict{.reached = accuracy >= checkpoints_.stop_accuracy};
  for (const Rank decider : checkpoints_.accuracy_deciders) {
    if (decider == context_.rank()) continue;
    Pending sent = protocol::send<"verdicts">(context_, decider, verdict);
    context_.wait(sent);
  }
  return verdict.reached;
}

}  // namespace tandem

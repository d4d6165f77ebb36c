#include "workloads/checkpoint/accuracy_stop.hpp"

#include <algorithm>

#include "workloads/checkpoint/record_files.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

AccuracyStop::AccuracyStop(const Job& job, Context& context)
    : context_(context), schedule_(job.checkpoints().schedule()) {
  const auto& deciders = job.checkpoints().accuracy_deciders;
  if (std::ranges::find(deciders, context.rank()) != deciders.end()) evaluator_ = job.checkpoints().evaluator;
  owes_verdict_ = evaluator_.has_value() && checkpoint_of_restart(job).has_value();
}

bool AccuracyStop::is_reached_after(std::int64_t round) {
  if (!evaluator_ || !schedule_.has_passed(round)) return false;
  schedule_.begin_again(round);
  return verdict();
}

bool AccuracyStop::is_reached_at_restart() { return owes_verdict_ && verdict(); }

bool AccuracyStop::verdict() {
  if (*evaluator_ == context_.rank()) return own_verdict_;
  Pending verdict = protocol::receive<"verdicts">(context_, *evaluator_);
  return protocol::unpack<protocol::Verdict>(context_.wait(verdict).note).reached;
}

}  // namespace tandem

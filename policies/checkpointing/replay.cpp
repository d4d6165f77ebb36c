#include "policies/checkpointing/replay.hpp"

namespace tandem::checkpointing {

Decisions decide(Policy& policy, const Event& event) {
  return decided<Decisions>(policy, event, &Policy::on_started, &Policy::on_round_done, &Policy::on_warned,
                            &Policy::on_departed, &Policy::on_ready, &Policy::on_committed,
                            &Policy::on_commit_failed);
}

}  // namespace tandem::checkpointing

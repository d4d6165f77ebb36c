#include "policies/recovery/replay.hpp"

namespace tandem::recovery {

Decisions decide(Policy& policy, const Event& event) {
  return decided<Decisions>(policy, event, &Policy::on_started, &Policy::on_warned, &Policy::on_departed,
                            &Policy::on_ready, &Policy::on_request_failed, &Policy::on_tick);
}

}  // namespace tandem::recovery

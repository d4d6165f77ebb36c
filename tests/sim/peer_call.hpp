// A call of AD-PSGD between two peers in one process, message by message.
#pragma once

#include <algorithm>

#include "workloads/exchange/peer_model.hpp"

namespace tandem::testing {

/// Runs the call up to the mean of both models, which neither peer has adopted yet.
inline void call(PeerModel& caller, PeerModel& called) {
  caller.begin()();
  called.begin()();
  std::copy_n(caller.begun().data, caller.begun().size.count(), called.call(0).data);
  const Slice reply = called.reply(0);
  called.average_with(0);
  std::copy_n(reply.data, reply.size.count(), caller.arrival(0).data);
  caller.mix(1, 0)();
}

}  // namespace tandem::testing

// A call of AD-PSGD between two peers in one process, message by message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "workloads/exchange/peer_model.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/plan/job.hpp"

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

/// The first two workers of a job, with models of random values.
class RandomPeers {
 public:
  explicit RandomPeers(const Job& job)
      : caller_(job.replica_plan(), job.exchange(), host_device(), 0),
        called_(job.replica_plan(), job.exchange(), host_device(), 1) {
    Rng random(5);
    for (Replica* replica : {&caller_, &called_})
      for (float& value : replica->model()) value = static_cast<float>(random.normal());
  }
  Replica& caller() { return caller_; }
  Replica& called() { return called_; }
  /// Of both models, by element.
  std::vector<float> means() {
    std::vector<float> all;
    for (std::size_t i = 0; i < caller_.model().size(); ++i)
      all.push_back((caller_.model()[i] + called_.model()[i]) / 2.0F);
    return all;
  }
  /// The first calls the second.
  void call() { testing::call(one_, other_); }
  /// Both adopt the mean.
  void take_over() {
    one_.take_over()();
    other_.take_over()();
  }

 private:
  Replica caller_, called_;
  PeerModel one_{caller_, 0}, other_{called_, 1};
};

}  // namespace tandem::testing

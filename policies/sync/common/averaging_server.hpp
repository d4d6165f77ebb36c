// The server side that BSP and local SGD share: wait for everybody, take the weighted mean once, answer all.
// What tells them apart is what the workers push.
#pragma once

#include <string>
#include <utility>

#include "policies/sync/common/barrier.hpp"
#include "policies/sync/common/change_average.hpp"
#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {

class AveragingServer : public PushServer {
 public:
  /// `weights`: a choice of weights_option().
  AveragingServer(int workers, std::string weights) : barrier_(workers), weights_(std::move(weights)) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker, weight_of(weights_, event)});
    barrier_.arrive(event.worker);
    if (barrier_.complete()) barrier_.release(decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event.worker);
    if (barrier_.complete()) barrier_.release(decisions);
  }

 private:
  Barrier barrier_;
  std::string weights_;
};

}  // namespace tandem::sync

// The server side of BSP and local SGD: wait for all workers, update the model once by the weighted mean,
// answer all. These algorithms differ in the payload of a push.
#pragma once

#include <string>
#include <utility>

#include "policies/sync/common/push_server.hpp"
#include "policies/sync/common/round_barrier.hpp"
#include "policies/sync/common/weights.hpp"

namespace tandem::sync {

class AveragingServer : public PushServer {
 public:
  /// `weights`: a choice of weights_option().
  AveragingServer(int workers, std::string weights) : barrier_(workers), weights_(std::move(weights)) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    if (barrier_.is_late(event.version)) return barrier_.drop_late(event, decisions);
    decisions.emplace_back(Accept{event.worker, weight_of(weights_, event)});
    barrier_.arrive(event.worker);
    if (barrier_.complete()) barrier_.release(decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event, decisions);
    if (barrier_.complete()) barrier_.release(decisions);
  }
  void on_joined(const Joined& event, ServerDecisions&) override {
    barrier_.join(event.worker, event.version);
  }
  void serialise(PolicyState& state) override { barrier_.serialise(state); }

 private:
  Barrier barrier_;
  std::string weights_;
};

/// Equal weights, whatever the samples of a push.
class EqualAverageServer final : public AveragingServer {
 public:
  explicit EqualAverageServer(const Setting& setting) : AveragingServer(setting.workers, "uniform") {}
};
/// Weights by samples: the mean is the gradient of the union of all batches also when batches are unequal.
class SampleAverageServer final : public AveragingServer {
 public:
  explicit SampleAverageServer(const Setting& setting) : AveragingServer(setting.workers, "samples") {}
};
/// Weights by weights_option().
class WeightedAverageServer final : public AveragingServer {
 public:
  explicit WeightedAverageServer(const Setting& setting)
      : AveragingServer(setting.workers, setting.options.text("weights")) {}
};

}  // namespace tandem::sync

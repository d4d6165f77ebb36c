// The server side of K-batch-sync and Rennala SGD. It collects gradients of the current model from any
// worker. A fixed number of them makes one update. Gradients of older models are dropped. Every push is
// answered immediately, so no worker waits. The answer to a gradient of the current model that makes no
// update is without the model. The weight of a gradient is the number of its samples, as in BSP and K-sync.
// With `cancel`, an update stops the steps on the model before it.
#pragma once

#include <string>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/push_server.hpp"
#include "policies/sync/common/weights.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::sync {

class CollectingServer : public PushServer {
 public:
  /// `gradients`: the number of gradients of one model version for an update.
  CollectingServer(std::int64_t gradients, const Options& options)
      : wanted_(gradients), cancels_(options.boolean("cancel")) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    if (event.version < version_ || event.cancelled) return drop(event, decisions);
    decisions.emplace_back(Accept{event.worker, weight_of("samples", event)});
    if (++collected_ == wanted_) {
      ++version_;
      if (cancels_) decisions.emplace_back(Cancel{version_});
      decisions.emplace_back(Apply{});
      collected_ = 0;
    }
    decisions.emplace_back(Reply{event.worker});
  }
  void serialise(PolicyState& state) override {
    state.value("collected", collected_);
    state.value("version", version_);
    if (collected_ < 0 || collected_ >= wanted_)
      throw ConfigError("policy state: expected 'collected' from 0 to " + std::to_string(wanted_ - 1));
  }

 private:
  std::int64_t wanted_;
  bool cancels_;
  std::int64_t collected_ = 0;
  int version_ = 0;
};

/// `quorum`: the server's number of gradients.
template <class Server>
Factory gradients_collected(std::int64_t (*quorum)(const Setting&)) {
  Factory make = with_cancel(gradients_answered_at_once<Server>());
  make.quorum = quorum;
  return make;
}

}  // namespace tandem::sync

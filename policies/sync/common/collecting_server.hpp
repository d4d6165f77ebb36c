// The server side that K-batch-sync and Rennala SGD share: gradients of the current model are collected,
// whoever they come from; so many of them make one update, and older ones are dropped. Every push is answered
// at once, so nobody waits.
#pragma once

#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {

class CollectingServer : public PushServer {
 public:
  explicit CollectingServer(std::int64_t gradients) : wanted_(gradients) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    if (event.version < version_) return drop(event, decisions);
    decisions.emplace_back(Accept{event.worker});
    if (++collected_ == wanted_) {
      decisions.emplace_back(Apply{});
      ++version_;
      collected_ = 0;
    }
    decisions.emplace_back(Reply{event.worker});
  }

 private:
  std::int64_t wanted_;
  std::int64_t collected_ = 0;
  int version_ = 0;
};

}  // namespace tandem::sync

// The server side of algorithms whose workers push without asking, and what several of these share: a push
// that comes too late, and a count of gradients that is by default one of each worker.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

class PushServer : public ServerPolicy {
 public:
  void on_report(const Report& event, ServerDecisions& decisions) override {
    decisions.emplace_back(AnswerReport{event.worker, true});
  }
  void on_left(const Left&, ServerDecisions&) override {}
};

/// Drops a push of an old model; its worker goes on from the current one.
inline void drop(const Push& event, ServerDecisions& decisions) {
  decisions.emplace_back(Discard{event.worker});
  decisions.emplace_back(Reply{event.worker});
}

/// The value of an option of which 0 stands for the number of workers.
inline std::int64_t or_all_workers(const Setting& setting, const std::string& option) {
  const std::int64_t value = setting.options.integer(option);
  return value == 0 ? setting.workers : value;
}

}  // namespace tandem::sync

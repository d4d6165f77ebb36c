#include "policies/sync/asynchronous/ringmaster.hpp"

#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {
namespace {

class RingmasterServer : public PushServer {
 public:
  explicit RingmasterServer(std::int64_t delay_bound) : delay_bound_(delay_bound) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    const int delay = version_ - event.version;
    if (delay >= delay_bound_) return drop(event, decisions);
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{});
    decisions.emplace_back(Reply{event.worker});
    ++version_;
  }

 private:
  std::int64_t delay_bound_;
  int version_ = 0;
};

}  // namespace

std::unique_ptr<ServerPolicy> make_ringmaster_server(const Setting& setting) {
  return std::make_unique<RingmasterServer>(or_all_workers(setting, "r"));
}

}  // namespace tandem::sync

#include "policies/sync/asynchronous/asp.hpp"

#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {
namespace {

class AspServer : public PushServer {
 public:
  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{});
    decisions.emplace_back(Reply{event.worker});
  }
};

}  // namespace

std::unique_ptr<ServerPolicy> make_asp_server(const Setting&) { return std::make_unique<AspServer>(); }

}  // namespace tandem::sync

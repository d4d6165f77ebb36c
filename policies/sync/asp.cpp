#include "policies/sync/asp.hpp"

#include "policies/sync/gradient_worker.hpp"

namespace tandem::sync {
namespace {

class AspServer : public ServerPolicy {
 public:
  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{});
    decisions.emplace_back(Reply{event.worker});
  }
  void on_report(const Report& event, ServerDecisions& decisions) override {
    decisions.emplace_back(AnswerReport{event.worker, true});
  }
  void on_left(const Left&, ServerDecisions&) override {}
};

}  // namespace

std::unique_ptr<WorkerPolicy> make_asp_worker(const Setting&, int) {
  return std::make_unique<GradientWorker>();
}
std::unique_ptr<ServerPolicy> make_asp_server(const Setting&) { return std::make_unique<AspServer>(); }

}  // namespace tandem::sync

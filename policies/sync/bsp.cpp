#include "policies/sync/bsp.hpp"

#include "policies/sync/barrier.hpp"
#include "policies/sync/gradient_worker.hpp"

namespace tandem::sync {
namespace {

class BspServer : public ServerPolicy {
 public:
  explicit BspServer(int workers) : barrier_(workers) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    // Weighted by samples, the mean is the gradient of the union batch also when batches are unequal.
    decisions.emplace_back(Accept{event.worker, static_cast<double>(event.samples)});
    barrier_.arrive(event.worker);
    if (barrier_.complete()) barrier_.release(decisions);
  }
  void on_report(const Report& event, ServerDecisions& decisions) override {
    decisions.emplace_back(AnswerReport{event.worker, true});
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event.worker);
    if (barrier_.complete()) barrier_.release(decisions);
  }

 private:
  Barrier barrier_;
};

}  // namespace

std::unique_ptr<WorkerPolicy> make_bsp_worker(const Setting&, int) {
  return std::make_unique<GradientWorker>();
}
std::unique_ptr<ServerPolicy> make_bsp_server(const Setting& setting) {
  return std::make_unique<BspServer>(setting.workers);
}

}  // namespace tandem::sync

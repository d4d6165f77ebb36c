#include "policies/sync/local_steps/local_sgd.hpp"

#include "policies/sync/common/averaging_server.hpp"

namespace tandem::sync {
namespace {

class LocalSgdWorker : public WorkerPolicy {
 public:
  explicit LocalSgdWorker(int steps) : steps_(steps) {}
  WorkerDecision on_step_done(const StepDone& event) override {
    if (event.local_steps < steps_) return Continue{};
    return Exchange{Payload::change};
  }
  void on_local_steps(int steps) override { steps_ = steps; }

 private:
  int steps_;
};

}  // namespace

std::unique_ptr<WorkerPolicy> make_local_steps_worker(int steps) {
  return std::make_unique<LocalSgdWorker>(steps);
}
std::unique_ptr<WorkerPolicy> make_local_sgd_worker(const Setting& setting, int) {
  return make_local_steps_worker(local_sgd_steps(setting.options));
}
std::unique_ptr<ServerPolicy> make_local_sgd_server(const Setting& setting) {
  return std::make_unique<AveragingServer>(setting.workers, setting.options.text("weights"));
}
int local_sgd_steps(const Options& options) { return static_cast<int>(options.integer("h")); }

}  // namespace tandem::sync

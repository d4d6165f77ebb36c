#include "policies/sync/local_sgd.hpp"

#include "policies/sync/barrier.hpp"
#include "policies/sync/change_average.hpp"

namespace tandem::sync {
namespace {

class LocalSgdWorker : public WorkerPolicy {
 public:
  explicit LocalSgdWorker(int steps) : steps_(steps) {}
  bool exchanges_gradient(const StepBegin&) override { return false; }
  WorkerDecision on_step_done(const StepDone& event) override {
    if (event.local_steps < steps_) return Continue{};
    return Exchange{Payload::change};
  }
  WorkerDecision on_answer(const Answer&) override { return Continue{}; }

 private:
  int steps_;
};

class LocalSgdServer : public ServerPolicy {
 public:
  LocalSgdServer(int workers, std::string weights) : barrier_(workers), weights_(std::move(weights)) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker, weight_of(weights_, event)});
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
  std::string weights_;
};

}  // namespace

std::unique_ptr<WorkerPolicy> make_local_sgd_worker(const Setting& setting, int) {
  return std::make_unique<LocalSgdWorker>(local_sgd_steps(setting.options));
}
std::unique_ptr<ServerPolicy> make_local_sgd_server(const Setting& setting) {
  return std::make_unique<LocalSgdServer>(setting.workers, setting.options.text("weights"));
}
int local_sgd_steps(const Options& options) { return static_cast<int>(options.integer("h")); }

}  // namespace tandem::sync

// sync/asynchronous/hurried.cpp. Each worker takes h local steps. Its change is applied on arrival, divided
// by the number of workers, and answered with the model as it is then: no worker waits for another.
#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {
namespace {

class HurriedWorker final : public WorkerPolicy {
 public:
  explicit HurriedWorker(const Setting& setting) : steps_(h_steps(setting.options)) {}

  WorkerDecision on_step_done(const StepDone& event) override {
    if (event.local_steps < steps_) return Continue{};
    return Exchange{Payload::change};
  }
  void serialise(PolicyState&) override {}  // no event changes a value of it

 private:
  int steps_;
};

class HurriedServer final : public PushServer {
 public:
  explicit HurriedServer(const Setting& setting) : scale_(1.0 / setting.workers) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{scale_});
    decisions.emplace_back(Reply{event.worker});
  }
  void serialise(PolicyState&) override {}

 private:
  double scale_;
};

}  // namespace

Algorithm hurried() {
  return {.name = "hurried",
          .summary = "h local steps, then each change is applied on arrival: no worker waits",
          .paper = "none",
          .options = {{.name = "h",
                       .summary = "local steps of a round",
                       .default_value = std::int64_t{4},
                       .minimum = 1}},
          .make = {.payload = Payload::change,
                   .routes = {Route::server},
                   .timing_driven = true,
                   .steps_per_round = h_steps,
                   .make_worker = make_worker<HurriedWorker>,
                   .make_server = make_server<HurriedServer>,
                   .membership = without_notice()}};
}

}  // namespace tandem::sync

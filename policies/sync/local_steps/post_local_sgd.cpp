// Post-local SGD (Lin et al., ICLR 2020). All workers average after every step in the first rounds, and after
// every H local steps from then on. The paper switches at the first decay of the learning rate; here an
// option names the round. The first rounds are local SGD with H = 1, which is BSP if the optimiser has no
// momentum of its own on each worker.
#include <algorithm>

#include "policies/sync/common/averaging_server.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/local_steps/algorithms.hpp"

namespace tandem::sync {
namespace {

class PostLocalSgdWorker final : public WorkerPolicy {
 public:
  explicit PostLocalSgdWorker(const Setting& setting)
      : switch_round_(setting.options.integer("switch_round")),
        rounds_until_switch_(switch_round_),
        steps_(setting.options.integer("h")),
        weight_(setting.options.text("weights")) {}

  WorkerDecision on_step_done(const StepDone& event) override {
    weight_.add(event);
    const bool is_switched = rounds_until_switch_ == 0;
    if (is_switched && event.local_steps < steps_) return Continue{};
    if (!is_switched) --rounds_until_switch_;
    return weight_.exchange();
  }
  void on_members(const Members& event) override {
    rounds_until_switch_ = std::max<std::int64_t>(0, switch_round_ - event.round);
  }
  void serialise(PolicyState& state) override {
    state.value("rounds_until_switch", rounds_until_switch_);
    weight_.serialise(state);
  }

 private:
  std::int64_t switch_round_;
  std::int64_t rounds_until_switch_;
  std::int64_t steps_;
  RoundWeight weight_;
};

}  // namespace

Algorithm post_local_sgd() {
  return {.name = "post-local-sgd",
          .summary = "averages after every step in the first rounds, then after every H local steps",
          .paper = "Lin et al., ICLR 2020",
          .options = {{.name = "h",
                       .summary = "local steps between averages after the switch",
                       .default_value = std::int64_t{4},
                       .minimum = 1},
                      {.name = "switch_round",
                       .summary = "rounds of one step each before the switch; default not from the paper",
                       .default_value = std::int64_t{10},
                       .minimum = 0},
                      weights_option()},
          .make = {.payload = Payload::change,
                   .routes = {Route::server, Route::all_reduce},
                   .timing_driven = false,
                   .steps_per_round = varying_steps,
                   .make_worker = make_worker<PostLocalSgdWorker>,
                   .make_server = make_server<WeightedAverageServer>,
                   .membership = by_rounds()}};
}

}  // namespace tandem::sync

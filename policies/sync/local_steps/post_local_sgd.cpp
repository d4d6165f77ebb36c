#include "policies/sync/local_steps/post_local_sgd.hpp"

#include "policies/sync/common/change_average.hpp"

namespace tandem::sync {
namespace {

class PostLocalSgdWorker : public WorkerPolicy {
 public:
  PostLocalSgdWorker(std::int64_t switch_round, std::int64_t steps)
      : rounds_until_switch_(switch_round), steps_(steps) {}

  WorkerDecision on_step_done(const StepDone& event) override {
    const bool is_switched = rounds_until_switch_ == 0;
    if (is_switched && event.local_steps < steps_) return Continue{};
    if (!is_switched) --rounds_until_switch_;
    return Exchange{Payload::change};
  }

 private:
  std::int64_t rounds_until_switch_;
  std::int64_t steps_;
};

}  // namespace

std::vector<OptionSpec> post_local_sgd_options() {
  return {{.name = "h",
           .summary = "local steps between averages after the switch",
           .default_value = std::int64_t{4},
           .minimum = 1},
          {.name = "switch_round",
           .summary = "rounds of one step each before the switch; this project's default",
           .default_value = std::int64_t{10},
           .minimum = 0},
          weights_option()};
}

std::unique_ptr<WorkerPolicy> make_post_local_sgd_worker(const Setting& setting, int) {
  return std::make_unique<PostLocalSgdWorker>(setting.options.integer("switch_round"),
                                              setting.options.integer("h"));
}

}  // namespace tandem::sync

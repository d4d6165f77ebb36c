// Jobs of rounds with fewer workers than they are to have at least (recovery.least), in closed form:
// negligible network.
#include "tests/sim/training.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class FewWorkers : public Training {
 protected:
  FewWorkers() { platform_ = TemporaryPlatform::star(5, 1e12, 1e-7); }
};

/// Two of four depart in mid-step, and come back 50 s later, while at least three are wanted. The round in
/// progress then ends with their gradients, whether the two that were left had pushed theirs before or not:
/// no update is made of two.
TEST_F(FewWorkers, NoUpdateIsMadeOfFewerGradientsThanAsked) {
  struct Case {
    sync::Route route;
    LossRule rule;
  };
  // Over an all-reduce, a round is always done again without the lost workers.
  for (const double slow_s : {1.0, 2.0})
    for (const auto& [route, rule] : {Case{sync::Route::server, LossRule::keep},
                                      {sync::Route::server, LossRule::drop},
                                      {sync::Route::all_reduce, LossRule::keep}}) {
      price_ = [slow_s](Rank rank, const Work& work) {
        return Seconds(work.kind != Work::Kind::forward ? 0.0 : rank < 2 ? 1.0 : slow_s);
      };
      Experiment experiment = small_experiment(4);
      experiment.workload.math = Math::modelled;
      experiment.workload.batch = 1;
      experiment.workload.train_samples = 1000;
      experiment.sync.algorithm = "bsp";
      experiment.sync.over = route;
      experiment.sync.collective = "ring";  // the library's all-reduce cannot lose a member
      experiment.stop = {.rounds = 10};
      experiment.recovery.policy = "replace";
      experiment.recovery.least = 3;
      experiment.recovery.on_loss = rule;
      experiment.transience.lifetime = "fixed";
      const std::string departs = std::to_string(5.75 * slow_s) + ",1e9";
      experiment.transience.options["times"] = "1e9;1e9;" + departs + ";" + departs;
      experiment.transience.start = Seconds(50);
      const std::string name =
          to_text(route) + std::string("-slow-") + std::to_string(slow_s) + to_text(rule);
      SCOPED_TRACE(name);
      const Seconds end = train_apart(experiment, name, [](const Journal& journal) {
        std::int64_t samples = 0;
        for (const auto& step : journal.steps) samples += step.samples;
        EXPECT_EQ(samples, 40);
      });
      EXPECT_NEAR(end.count(), (5.75 + 1 + 4) * slow_s + 50, 0.01);
    }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

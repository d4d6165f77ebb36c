// Members that get the state of training from another one over a slow network, while others depart and join.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "tests/sim/training.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// Steps of a second; the state of training takes three seconds from one worker to another, alone.
class StateTransfers : public Training {
 protected:
  static constexpr double state_s = 3.0;

  StateTransfers() {
    price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 1.0 : 0.0); };
  }

  static Experiment job(const std::string& algorithm, sync::Route over) {
    Experiment experiment = small_experiment(4);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.optimizer.kind = OptimizerKind::adam;
    experiment.sync.algorithm = algorithm;
    experiment.sync.over = over;
    experiment.sync.collective = "ring";
    experiment.recovery.policy = "replace";
    experiment.transience.lifetime = "trace";
    return experiment;
  }
  /// The model and two moments of it are the state.
  void set_network(Experiment experiment) {
    const TemporaryPlatform any(TemporaryPlatform::star(5, 1e12, 1e-7));
    experiment.platform = any.path();
    const Job job(experiment, platforms::load_platform(any.path()), directory_.string());
    const double bytes = 3.0 * static_cast<double>(job.model().bytes().count());
    platform_ = TemporaryPlatform::star(5, bytes / state_s, 1e-7);
  }
  /// So that one always has the state.
  void keep_last_machine() {
    const auto host = platform_.find("</host>", platform_.find("id='host-4'"));
    platform_.insert(host, "<prop id='tandem:lifetime' value='never'/>");
  }
  static double first_step_after(const Journal& journal, Rank rank, double start) {
    double first = 1e9;
    for (const StepRecord& step : journal.steps)
      if (step.rank == rank && step.start.count() > start) first = std::min(first, step.start.count());
    return first;
  }
};

class FastChanges : public StateTransfers,
                    public ::testing::WithParamInterface<std::pair<std::string, sync::Route>> {};

/// From 22 s on, the machine of the last worker comes or departs in each second, so that it never gets the
/// state. The first one gets it meanwhile, within three times the time: two transfers share the network,
/// and messages that have begun to arrive come first.
TEST_P(FastChanges, DoNotBeginATransferAnew) {
  const auto& [algorithm, over] = GetParam();
  Experiment experiment = job(algorithm, over);
  experiment.stop = {.rounds = 40};
  std::string events = "20.5 remove a; 20.5 add a";
  for (int second = 22; second < 60; second += 2)
    events += "; " + std::to_string(second) + ".25 remove d; " + std::to_string(second + 1) + ".25 add d";
  experiment.transience.options["events"] = events;
  set_network(experiment);
  const Journal journal = train(experiment);
  const double first = first_step_after(journal, job_->roster().workers().front(), 20.5);
  EXPECT_GT(first, 20.5 + state_s);
  EXPECT_LT(first, 20.5 + 3.0 * state_s);
  EXPECT_EQ(journal.counted_rounds, 40);
}

INSTANTIATE_TEST_SUITE_P(Routes, FastChanges,
                         ::testing::Values(std::pair("bsp", sync::Route::all_reduce),
                                           std::pair("d-psgd", sync::Route::peers)),
                         [](const auto& test) { return test.param.first == "bsp" ? "bsp" : "dpsgd"; });

/// Machines that depart and come at random, about one change in each time that the state takes.
class RandomChanges : public StateTransfers, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void expect_all_rounds(const std::string& algorithm, sync::Route over, const std::string& name,
                         const std::function<void(Experiment&)>& change = {}) {
    const std::uint64_t seed = GetParam();
    SCOPED_TRACE(name + " seed " + std::to_string(seed));
    Experiment experiment = job(algorithm, over);
    experiment.stop = {.rounds = 30};
    experiment.seed = seed;
    experiment.transience = {.lifetime = "exponential", .options = {{"mean", 8.0 * state_s}}};
    experiment.transience.start = Seconds(seed % 2 == 0 ? 0.0 : 1.0);
    experiment.transience.detect = Seconds(seed % 3 == 0 ? 0.5 : 0.0);
    if (change) change(experiment);
    set_network(experiment);
    keep_last_machine();
    train_apart(experiment, name, [](const Journal& journal) { EXPECT_EQ(journal.counted_rounds, 30); });
  }
};

TEST_P(RandomChanges, EndWithAllRounds) {
  expect_all_rounds("bsp", sync::Route::all_reduce, "bsp");
  expect_all_rounds("group-average", sync::Route::all_reduce, "group-average");
  expect_all_rounds("d-psgd", sync::Route::peers, "d-psgd");
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomChanges, ::testing::Range(std::uint64_t{1}, std::uint64_t{4}));
INSTANTIATE_TEST_SUITE_P(LongSeeds, RandomChanges, ::testing::Range(std::uint64_t{4}, std::uint64_t{21}));

/// With a coordinator, with commits, and with a pause below `least`.
class RandomChangesAndDuties : public RandomChanges {};

TEST_P(RandomChangesAndDuties, EndWithAllRounds) {
  const auto commits = [](CommitMode mode) {
    return [=](Experiment& experiment) {
      experiment.checkpoint.policy = "fixed";
      experiment.checkpoint.options["interval"] = 2.0;
      experiment.checkpoint.mode = mode;
      experiment.checkpoint.to = CommitPlace::directory;
    };
  };
  const auto timed = [](CommitMode mode) {
    return [=](Experiment& experiment) {
      experiment.checkpoint.policy = "optimal";
      experiment.checkpoint.options["mtbf_s"] = 60.0;
      experiment.checkpoint.mode = mode;
    };
  };
  expect_all_rounds("esync", sync::Route::all_reduce, "esync");
  expect_all_rounds("esync", sync::Route::all_reduce, "esync-commits", commits(CommitMode::blocking));
  expect_all_rounds("esync-published", sync::Route::all_reduce, "published-commits",
                    commits(CommitMode::background));
  expect_all_rounds("bsp", sync::Route::all_reduce, "bsp-commits", commits(CommitMode::blocking));
  expect_all_rounds("bsp", sync::Route::all_reduce, "bsp-background", commits(CommitMode::background));
  expect_all_rounds("local-sgd", sync::Route::all_reduce, "local-commits", commits(CommitMode::blocking));
  expect_all_rounds("d-psgd", sync::Route::peers, "dpsgd-commits", commits(CommitMode::blocking));
  expect_all_rounds("group-average", sync::Route::all_reduce, "group-commits",
                    commits(CommitMode::background));
  expect_all_rounds("bsp", sync::Route::all_reduce, "bsp-timed", timed(CommitMode::blocking));
  expect_all_rounds("bsp", sync::Route::all_reduce, "bsp-timed-background", timed(CommitMode::background));
  expect_all_rounds("esync", sync::Route::all_reduce, "esync-timed", timed(CommitMode::blocking));
  expect_all_rounds("d-psgd", sync::Route::peers, "dpsgd-timed", timed(CommitMode::blocking));
  expect_all_rounds("group-average", sync::Route::all_reduce, "group-timed", timed(CommitMode::blocking));
  expect_all_rounds("bsp", sync::Route::all_reduce, "bsp-least",
                    [](Experiment& experiment) { experiment.recovery.least = 3; });
  expect_all_rounds("esync", sync::Route::all_reduce, "esync-least",
                    [](Experiment& experiment) { experiment.recovery.least = 3; });
  expect_all_rounds("d-psgd", sync::Route::peers, "dpsgd-least",
                    [](Experiment& experiment) { experiment.recovery.least = 3; });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomChangesAndDuties, ::testing::Values(std::uint64_t{3}));
INSTANTIATE_TEST_SUITE_P(LongSeeds, RandomChangesAndDuties, ::testing::Values(1, 2, 4, 5, 6));

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

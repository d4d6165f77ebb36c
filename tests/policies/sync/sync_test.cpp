// The synchronisation algorithms against their papers' closed forms, and their logs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/names.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

using testing::PolicyRun;

TEST(Bsp, StepsTogetherAtThePaceOfTheSlowest) {
  PolicyRun run("bsp", {1.0, 4.0, 2.0});
  run.run_updates(10);
  EXPECT_DOUBLE_EQ(run.now(), 40.0);
  for (const int staleness : run.staleness()) EXPECT_EQ(staleness, 0);
}

TEST(Bsp, RepliesInWorkerOrderOnceAllHavePushed) {
  const auto& factory = catalog().find("bsp").make;
  const auto server = factory.make_server({3, 8, Route::server, {}});
  ServerDecisions decisions;
  for (const int worker : {2, 0, 1})
    server->on_push({Seconds(1), worker, 0, 8, 1, Seconds(1), 1.0, 0.0}, decisions);
  EXPECT_EQ(to_text(decisions), "accept 2 8; accept 0 8; accept 1 8; apply 1; reply 0; reply 1; reply 2");
}

TEST(Bsp, AWorkerThatLeavesReleasesTheRest) {
  PolicyRun run("bsp", {1.0, 1.0, 100.0});
  run.run_updates(1);
  EXPECT_EQ(run.version(), 1);
  PolicyRun shorter("bsp", {1.0, 1.0, 100.0});
  shorter.leave(2);
  shorter.run_updates(5);
  EXPECT_DOUBLE_EQ(shorter.now(), 5.0);
}

TEST(Asp, MeanStalenessIsWorkersMinusOneForAnySpeeds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng random = Rng::stream(seed, "asp test");
    std::vector<double> durations(2 + random.below(7));
    for (double& duration : durations) duration = 0.1 + random.uniform();
    PolicyRun run("asp", durations);
    run.run_updates(20000);
    const auto& staleness = run.staleness();
    const double mean =
        std::accumulate(staleness.begin(), staleness.end(), 0.0) / static_cast<double>(staleness.size());
    EXPECT_NEAR(mean, static_cast<double>(durations.size()) - 1.0, 0.01);
  }
}

TEST(Asp, ThroughputIsTheSumOfTheWorkersRates) {
  PolicyRun run("asp", {0.5, 1.0, 0.25});
  run.run_updates(7000);
  EXPECT_NEAR(7000 / run.now(), 2.0 + 1.0 + 4.0, 0.01);
}

TEST(LocalSgd, TakesHStepsBetweenAverages) {
  PolicyRun run("local-sgd", {1.0, 3.0}, {{"h", std::int64_t{5}}});
  run.run_updates(4);
  EXPECT_EQ(run.steps(0), (std::vector<int>{5, 5, 5, 5}));
  EXPECT_DOUBLE_EQ(run.now(), 4 * 5 * 3.0);
}

TEST(LocalSgd, OneStepIsBsp) {
  PolicyRun local("local-sgd", {1.0, 3.0, 2.0}, {{"h", std::int64_t{1}}});
  PolicyRun bsp("bsp", {1.0, 3.0, 2.0});
  local.run_updates(6);
  bsp.run_updates(6);
  EXPECT_EQ(local.update_times(), bsp.update_times());
}

/// The published variant, which asks at the end of a step, and the variant that reports at its beginning:
/// without a network they make the same decisions.
class Esync : public ::testing::TestWithParam<std::string> {};

TEST_P(Esync, EqualWorkersAreBsp) {
  for (const double epsilon : {0.0, 0.3}) {
    PolicyRun run(GetParam(), {2.0, 2.0, 2.0}, {{"epsilon_s", epsilon}});
    run.run_updates(5);
    for (const int worker : {0, 1, 2}) EXPECT_EQ(run.steps(worker), (std::vector<int>{1, 1, 1, 1, 1}));
    EXPECT_DOUBLE_EQ(run.now(), 10.0);
  }
}

TEST_P(Esync, ReproducesTheExampleOfTheReference) {
  PolicyRun run(GetParam(), {4.0, 1.0}, {{"epsilon_s", 0.0}});
  run.run_updates(4);
  EXPECT_EQ(run.steps(0), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(run.steps(1), (std::vector<int>{1, 4, 4, 4}));  // the first round measures
  const std::vector<std::map<std::string, OptionValue>> margins = {
      {{"epsilon_s", 0.5}},
      {{"epsilon_s", 0.0}, {"epsilon_share", 0.125}},
      {{"epsilon_s", 0.25}, {"epsilon_share", 0.0625}}};
  for (const auto& margin : margins) {
    PolicyRun with_margin(GetParam(), {4.0, 1.0}, margin);
    with_margin.run_updates(3);
    EXPECT_EQ(with_margin.steps(1), (std::vector<int>{1, 3, 3}));
  }
}

TEST_P(Esync, StepsPerRoundFollowTheClosedForm) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng random = Rng::stream(seed, "esync test");
    std::vector<double> durations(2 + random.below(8));
    for (double& duration : durations) duration = 0.05 + random.uniform();
    const double slowest = *std::max_element(durations.begin(), durations.end());
    const double epsilon_s = 0.2 * random.uniform(), epsilon_share = 0.2 * random.uniform();
    const double epsilon = epsilon_s + epsilon_share * slowest;
    const std::map<std::string, OptionValue> options = {{"epsilon_s", epsilon_s},
                                                        {"epsilon_share", epsilon_share}};
    PolicyRun run(GetParam(), durations, options);
    run.run_updates(4);
    const auto& entry = catalog().find(GetParam());
    std::vector<int> closed_form;
    for (std::size_t worker = 0; worker < durations.size(); ++worker) {
      const int expected = std::max(1, static_cast<int>(std::floor((slowest - epsilon) / durations[worker])));
      EXPECT_EQ(run.steps(static_cast<int>(worker)), (std::vector<int>{1, expected, expected, expected}));
      closed_form.push_back(expected);
    }
    if (entry.make.steady_steps != nullptr) {
      std::vector<WorkerPace> paces;
      for (const double duration : durations)
        paces.push_back({.step = Seconds(duration), .exchange = Seconds(0.0), .reply = Seconds(0.0)});
      EXPECT_EQ(entry.make.steady_steps(Options::resolve(entry.name, entry.options, options), paces),
                closed_form);
    }
    EXPECT_NEAR(run.now(), 4 * slowest, 1e-9);
  }
}

TEST_P(Esync, ASingleWorkerIsSequential) {
  PolicyRun run(GetParam(), {0.7});
  run.run_updates(5);
  EXPECT_EQ(run.steps(0), (std::vector<int>{1, 1, 1, 1, 1}));
}

TEST_P(Esync, LosingTheSlowestDoesNotBlockTheOthers) {
  PolicyRun run(GetParam(), {10.0, 1.0, 2.0}, {{"epsilon_s", 0.0}});
  run.run_updates(2);
  run.leave(0);
  const double left_at = run.now();
  run.run_updates(6);
  EXPECT_EQ(run.version(), 6);
  EXPECT_LE(run.now(), left_at + 10.0 + 4 * 2.0);
  EXPECT_EQ(run.steps(1).back(), 2);  // the pace is that of worker 2 now
}

TEST_P(Esync, CapsTheStepsPerRound) {
  PolicyRun run(GetParam(), {100.0, 1.0}, {{"max_local_steps", std::int64_t{7}}});
  run.run_updates(3);
  EXPECT_EQ(run.steps(1), (std::vector<int>{1, 7, 7}));
}

INSTANTIATE_TEST_SUITE_P(Variants, Esync, ::testing::Values("esync", "esync-published"),
                         testing::catalog_name);

TEST(EsyncAhead, RoundsEndDespiteLostAnswers) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun run("esync", {4.0, 1.0, 1.5}, {{"max_local_steps", std::int64_t{20}}});
    run.lose_answers(Rng::stream(seed, "lost answers"));
    run.run_updates(50);
    EXPECT_EQ(run.version(), 50);
    for (const int worker : {0, 1, 2})
      for (const int steps : run.steps(worker)) EXPECT_LE(steps, 20);
  }
}

TEST(Logs, EventsRoundTripExactly) {
  Rng random = Rng::stream(7, "log test");
  for (int i = 0; i < 1000; ++i) {
    const Seconds now(random.uniform() * 1e6), duration(random.uniform());
    const int worker = static_cast<int>(random.below(1000));
    const ServerEvent events[] = {Push{now, worker, i, 64, 3, duration, random.normal(), random.uniform(),
                                       i % 2 == 0 ? 1.0 : random.uniform()},
                                  Report{now, worker, i, 2, duration}, Left{now, worker},
                                  Left{now, worker, true}, Joined{now, worker, i}};
    for (const auto& event : events) EXPECT_EQ(to_text(parse_server_event(to_text(event))), to_text(event));
  }
}

TEST(Logs, RefuseTextsThatAreNotEvents) {
  for (const char* text : {"", "pull worker=1", "push worker=one", "left worker=1", "joined worker=1 now=2",
                           "report worker=1 now=x"})
    EXPECT_THROW(parse_server_event(text), ConfigError) << text;
}

TEST(Logs, ReplayingEventsGivesTheSameDecisions) {
  const auto& entry = catalog().find("esync");
  const Setting setting{3, 8, Route::server, Options::resolve("esync", entry.options, {})};
  const auto first = entry.make.make_server(setting);
  const auto second = entry.make.make_server(setting);
  Rng random = Rng::stream(3, "replay test");
  double now = 0.0;
  for (int i = 0; i < 300; ++i) {
    now += random.uniform();
    const Report event{Seconds(now), static_cast<int>(random.below(3)), 0, 1, Seconds(random.uniform())};
    ServerDecisions recorded, replayed;
    first->on_report(event, recorded);
    second->on_report(std::get<Report>(parse_server_event(to_text(ServerEvent(event)))), replayed);
    EXPECT_EQ(to_text(recorded), to_text(replayed));
  }
}

TEST(SyncCatalogue, EveryAlgorithmMakesBothSides) {
  for (const auto& entry : catalog().entries()) {
    SCOPED_TRACE(entry.name);
    const Setting setting{2, 8, entry.make.routes.front(), Options::resolve(entry.name, entry.options, {})};
    EXPECT_NE(entry.make.make_worker(setting, 0), nullptr);
    EXPECT_EQ(entry.make.make_server == nullptr, entry.make.payload == Payload::model);
    if (entry.make.make_server != nullptr) {
      EXPECT_NE(entry.make.make_server(setting), nullptr);
    }
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_FALSE(entry.paper.empty());
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync

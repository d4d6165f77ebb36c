// The replay gate: with the recorded events, new policies make the recorded decisions, and each kind of
// falsified record fails with a message that names it.
#include "policies/sync/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/support/synthetic_results.hpp"
#include "validation/compare/compare.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::HasSubstr;
using testing::synthetic_variant;
using State = Gate::State;

const CompareOptions quick{.resampling = {.resamples = 200}};

TEST(Replay, RecordedEventsGiveTheRecordedDecisions) {
  for (const char* algorithm : {"bsp", "asp", "esync", "local-sgd"}) {
    const auto variant = synthetic_variant({.algorithm = algorithm});
    const auto gate = replay(variant.simulated, variant.measured);
    EXPECT_EQ(gate.state, State::passed) << gate.detail;
    EXPECT_GT(gate.checked, 100);
  }
}

TEST(Replay, AFalsifiedDecisionIsFound) {
  auto variant = synthetic_variant({.algorithm = "esync"});
  auto& decisions = variant.measured[1].journal.decisions;
  const auto record = std::find_if(decisions.begin(), decisions.end(), [](const auto& r) {
    return r.side == "server" && r.decisions.ends_with("continue");
  });
  ASSERT_NE(record, decisions.end());
  const std::string recorded = record->decisions = "answer 0 ready and more";
  const auto gate = replay(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::failed);
  EXPECT_THAT(gate.detail, HasSubstr(variant.measured[1].path + " (rank 4 (server on lab-head)), event #"));
  EXPECT_THAT(gate.detail, HasSubstr("recorded: " + recorded));
  EXPECT_FALSE(compare(variant.simulated, variant.measured, quick).gates_hold());
}

/// Adds what a checkpointing policy of the catalogue decides on a few events.
void add_commits(Results& results) {
  results.info.experiment.checkpoint.policy = "young";
  results.info.experiment.checkpoint.options = {{"mtbf_s", 3600.0}};
  for (const auto& [event, decisions] : std::vector<std::pair<std::string, std::string>>{
           {"ready slot=0 incarnation=1 now=0", ""},
           {"started round=0 now=0", "next_commit_in rounds=1"},
           {"round_done round=1 workers=4 duration=20 now=20", ""},
           {"committed round=1 duration=2 now=22", "next_commit_in seconds=120"}})
    results.journal.decisions.push_back({4, "checkpointing", event, decisions});
}

TEST(Replay, IncludesDecisionsAboutCommits) {
  auto variant = synthetic_variant({});
  const auto before = replay(variant.simulated, variant.measured).checked;
  add_commits(variant.simulated);
  add_commits(variant.measured[0]);
  const auto gate = replay(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::passed) << gate.detail;
  EXPECT_EQ(gate.checked, before + 8);
  EXPECT_THAT(timing_reason(variant.simulated.info), HasSubstr("young decides by durations"));
  variant.measured[0].journal.decisions.back().decisions = "next_commit_in seconds=121";
  const auto found = replay(variant.simulated, variant.measured);
  EXPECT_EQ(found.state, State::failed);
  EXPECT_THAT(found.detail, HasSubstr("a fresh young decides differently"));
}

/// Adds what the recovery policy of the experiment decides on a few events.
void add_recovery(Results& results) {
  auto& experiment = results.info.experiment;
  experiment.transience.lifetime = "exponential";
  experiment.recovery.policy = "replace";
  experiment.recovery.options = {{"cooldown_after", std::int64_t{2}}, {"cooldown_s", 100.0}};
  results.info.zones = {0, 0, 1, 1};
  for (const auto& [event, decisions] : std::vector<std::pair<std::string, std::string>>{
           {"started workers=4 now=0", ""},
           {"departed slot=2 incarnation=1 how=lost now=1", "request slot=2"},
           {"departed slot=0 incarnation=1 how=lost now=2", "request slot=0"},
           {"ready slot=2 incarnation=2 now=3", "admit slot=2"},
           {"departed slot=2 incarnation=2 how=lost now=4", "wake_at seconds=104"}})
    results.journal.decisions.push_back({5, "recovery", event, decisions});
}

/// The second death in a zone lets requests there wait; in one zone, the second death of all would.
TEST(Replay, IncludesDecisionsOnDepartures) {
  auto variant = synthetic_variant({});
  const auto before = replay(variant.simulated, variant.measured).checked;
  add_recovery(variant.simulated);
  add_recovery(variant.measured[0]);
  const auto gate = replay(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::passed) << gate.detail;
  EXPECT_EQ(gate.checked, before + 10);
  EXPECT_THAT(timing_reason(variant.simulated.info), HasSubstr("machines depart by the clock"));
  auto falsified = variant;
  falsified.measured[0].journal.decisions.back().decisions = "request slot=2";
  const auto found = replay(falsified.simulated, falsified.measured);
  EXPECT_EQ(found.state, State::failed);
  EXPECT_THAT(found.detail, HasSubstr("event #4: a fresh replace decides differently"));
  EXPECT_THAT(found.detail, HasSubstr("recorded: request slot=2"));
  variant.measured[0].info.zones.assign(4, 0);
  EXPECT_EQ(replay(variant.simulated, variant.measured).state, State::failed);
}

/// Two machines have died in slot 2 and one in slot 3, when both may be requested again.
TEST(Replay, IncludesWhereMachinesAreRequested) {
  auto variant = synthetic_variant({});
  for (Results* results : {&variant.simulated, &variant.measured[0]}) {
    add_recovery(*results);
    auto& recovery = results->info.experiment.recovery;
    recovery.provisioning = "longest-living";
    recovery.provisioning_options = {{"of", std::string("slot")}};
    results->journal.decisions.push_back({5, "recovery", "departed slot=3 incarnation=1 how=lost now=5", ""});
    results->journal.decisions.push_back({5, "recovery", "tick now=104", "request slot=3; request slot=2"});
  }
  const auto gate = replay(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::passed) << gate.detail;
  variant.measured[0].info.experiment.recovery.provisioning = "same";
  variant.measured[0].info.experiment.recovery.provisioning_options.clear();
  EXPECT_EQ(replay(variant.simulated, variant.measured).state, State::failed);
}

/// Without run.revoke no machine of a measured run departs, whatever the lifetimes.
TEST(Replay, MachinesOfAMeasuredRunStayWithoutRevocations) {
  auto variant = synthetic_variant({});
  Results& run = variant.measured[0];
  auto& experiment = run.info.experiment;
  experiment.transience.lifetime = "exponential";
  experiment.transience.options = {{"mean", 1.0}};
  experiment.recovery.mode = RecoveryMode::restart;
  experiment.recovery.policy = "liveput";
  run.info.zones = {0, 1, 2, 3};
  run.journal.decisions.push_back({5, "recovery", "started workers=4 now=0", ""});
  const auto gate = replay(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::passed) << gate.detail;
  experiment.run.revoke = RevokeMode::kill;
  const auto revoked = replay(variant.simulated, variant.measured);
  EXPECT_EQ(revoked.state, State::failed);
  EXPECT_THAT(revoked.detail, HasSubstr("a fresh liveput decides differently"));
}

TEST(Replay, ALostEventIsFound) {
  auto variant = synthetic_variant({});
  auto& decisions = variant.simulated.journal.decisions;
  const auto record =
      std::find_if(decisions.begin(), decisions.end(), [](const auto& r) { return r.side == "server"; });
  decisions.erase(record);
  EXPECT_EQ(replay(variant.simulated, variant.measured).state, State::failed);
}

TEST(Replay, WithoutRecordsThereIsNothingToReplay) {
  auto variant = synthetic_variant({});
  variant.simulated.journal.decisions.clear();
  variant.measured.clear();
  EXPECT_EQ(replay(variant.simulated, variant.measured).state, State::not_checked);
}

/// Falsifies a worker's first decision after an event with this prefix, and expects the gate to find it.
void expect_found(VariantResults variant, const std::string& event) {
  auto& decisions = variant.measured[0].journal.decisions;
  const auto record = std::find_if(decisions.begin(), decisions.end(), [&](const auto& r) {
    return r.side == "worker" && r.event.starts_with(event);
  });
  ASSERT_NE(record, decisions.end()) << event;
  record->decisions += " and more";
  const auto gate = replay(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::failed) << event;
  EXPECT_THAT(gate.detail, HasSubstr("event:    " + record->event));
  EXPECT_THAT(gate.detail, HasSubstr("recorded: " + record->decisions));
}

TEST(Replay, AFalsifiedDecisionOfAWorkerIsFound) {
  expect_found(synthetic_variant({.over = sync::Route::all_reduce}), "step_begin");
  expect_found(synthetic_variant({.algorithm = "local-sgd"}), "step_done");
  expect_found(synthetic_variant({.algorithm = "esync"}), "step_begin");
  expect_found(synthetic_variant({.algorithm = "esync"}), "step_done");
  const auto published = synthetic_variant({.algorithm = "esync-published"});
  const auto gate = replay(published.simulated, published.measured);
  EXPECT_EQ(gate.state, State::passed) << gate.detail;
  expect_found(published, "answer");
}

/// A worker's decisions also depend on the coordinator's answers.
TEST(Replay, ADifferentAnswerOfTheCoordinatorIsFound) {
  auto variant = synthetic_variant({.algorithm = "esync"});
  auto& decisions = variant.measured[0].journal.decisions;
  const auto record = std::find_if(decisions.begin(), decisions.end(), [](const auto& r) {
    return r.side == "worker" && r.event.find("answer=1") != std::string::npos;
  });
  ASSERT_NE(record, decisions.end());
  record->event.replace(record->event.find("answer=1"), 8, "answer=0");
  EXPECT_EQ(replay(variant.simulated, variant.measured).state, State::failed);
}

using OptionValues = std::map<std::string, OptionValue>;

/// A run of four workers without a server, with the given number of steps.
Results of_workers_alone(const std::string& algorithm, sync::Route over, const OptionValues& options,
                         int steps) {
  Results results;
  results.info.experiment.sync.algorithm = algorithm;
  results.info.experiment.sync.over = over;
  results.info.experiment.sync.options = options;
  results.info.roles.assign(4, "worker");
  results.info.hosts.assign(4, "lab");
  const auto& entry = sync::catalog().find(algorithm);
  const sync::Setting setting{.workers = 4,
                              .batch = results.info.experiment.workload.batch,
                              .route = over,
                              .options = Options::resolve(algorithm, entry.options, options),
                              .seed = results.info.experiment.seed};
  for (Rank rank = 0; rank < 4; ++rank) {
    const auto policy = entry.make.make_worker(setting, rank);
    const auto see = [&](const sync::WorkerEvent& event) {
      const std::string decided = sync::decide_in_words(*policy, event);
      results.journal.decisions.push_back({rank, "worker", sync::to_text(event), decided});
      return decided;
    };
    for (int step = 0; step < steps; ++step)
      if (see(sync::StepBegin{0}) == "continue")
        see(sync::StepDone{.now = Seconds(step), .duration = Seconds(1), .samples = 8, .local_steps = 1});
  }
  return results;
}

TEST(Replay, WorkersThatAverageModelsAreReplayed) {
  const OptionValues step_first = {{"order", std::string("step-first")}, {"global_every", std::int64_t{3}}};
  for (const auto& [algorithm, over, options, events] :
       {std::tuple("d-psgd", sync::Route::peers, step_first, 4 * 2 * 7),
        std::tuple("d-psgd", sync::Route::peers, OptionValues(), 4 * 7),
        std::tuple("group-average", sync::Route::all_reduce, OptionValues(), 4 * 2 * 7)}) {
    const Results results = of_workers_alone(algorithm, over, options, 7);
    const auto gate = replay(results, {});
    EXPECT_EQ(gate.state, State::passed) << gate.detail;
    EXPECT_EQ(gate.checked, events) << algorithm;
    Results falsified = results;
    auto& last = falsified.journal.decisions.back().decisions;
    ASSERT_TRUE(last.starts_with("exchange model members="));
    last = "exchange model members=0,3";
    if (last == results.journal.decisions.back().decisions) last = "exchange model members=1,3";
    EXPECT_EQ(replay(falsified, {}).state, State::failed) << algorithm;
  }
}

/// A resumed run records the states of its policies first.
TEST(Replay, BeginsWithTheStatesOfAResumedRun) {
  const OptionValues options = {{"order", std::string("step-first")}, {"global_every", std::int64_t{3}}};
  Results results = of_workers_alone("d-psgd", sync::Route::peers, options, 7);
  auto& decisions = results.journal.decisions;
  // Without the first step (2 events) of each worker.
  std::map<Rank, int> seen;
  std::erase_if(decisions, [&](const auto& record) { return seen[record.rank]++ < 2; });
  EXPECT_EQ(replay(results, {}).state, State::failed);
  for (Rank rank = 0; rank < 4; ++rank)
    decisions.insert(decisions.begin(),
                     {rank, "worker", sync::restore_event("exchanges=1 present=1111"), ""});
  const auto gate = replay(results, {});
  EXPECT_EQ(gate.state, State::passed) << gate.detail;
  EXPECT_EQ(gate.checked, 4 * (1 + 2 * 6));
  decisions.front().event = sync::restore_event("steps=1");
  EXPECT_THROW(replay(results, {}), ConfigError);
}

/// For example, an event recorded by another version of Tandem.
TEST(Replay, UnknownEventsAreRefused) {
  Results results = of_workers_alone("group-average", sync::Route::all_reduce, {}, 1);
  results.journal.decisions.front().event = "step_begin";
  EXPECT_THROW(replay(results, {}), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation

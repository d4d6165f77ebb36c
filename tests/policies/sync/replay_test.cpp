// New policies that are restored from the state of others, or that process their events, make the same
// decisions.
#include "policies/sync/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

constexpr int batch = 8;
constexpr int workers = 4;

struct Worker {
  std::string algorithm;
  Route route = Route::server;
  std::map<std::string, OptionValue> options = {};

  std::unique_ptr<WorkerPolicy> make(int index) const {
    const auto& entry = catalog().find(algorithm);
    return entry.make.make_worker({entry.make.most_workers == 1 ? 1 : workers, batch, route,
                                   Options::resolve(algorithm, entry.options, options), 7},
                                  index);
  }
};
void PrintTo(const Worker& worker, std::ostream* out) {
  *out << worker.algorithm << " over " << to_text(worker.route);
}

/// The worker's decision in each of `steps` steps.
std::vector<std::string> decisions(WorkerPolicy& policy, int steps) {
  std::vector<std::string> all;
  int local_steps = 0;
  for (int step = 0; step < steps; ++step) {
    WorkerDecision decision = Continue{};
    if (const auto during = policy.on_step_begin({local_steps}))
      decision = *during;
    else
      decision = policy.on_step_done({Seconds(step), Seconds(0.5), batch, local_steps + 1});
    ++local_steps;
    if (std::holds_alternative<Exchange>(decision)) local_steps = 0;
    all.push_back(to_text(decision));
  }
  return all;
}

std::ptrdiff_t steps_of(const std::vector<std::string>& decided, int exchanges) {
  auto at = decided.begin();
  for (; exchanges > 0; ++at)
    if (at->starts_with("exchange")) --exchanges;
  return at - decided.begin();
}

class RestoredWorkers : public ::testing::TestWithParam<Worker> {};

TEST_P(RestoredWorkers, DecideLikeTheOriginalWorkers) {
  for (int index = 0; index < (GetParam().algorithm == "sequential" ? 1 : workers); ++index)
    for (const int exchanges : {0, 1, 5, 11}) {
      const auto whole = decisions(*GetParam().make(index), 200);
      const auto begin = steps_of(whole, exchanges);
      const auto first = GetParam().make(index), rest = GetParam().make(index);
      decisions(*first, static_cast<int>(begin));
      restore(*rest, serialised(*first));
      EXPECT_EQ(decisions(*rest, 200 - static_cast<int>(begin)),
                std::vector(whole.begin() + begin, whole.end()))
          << exchanges;
    }
}

std::vector<Worker> not_driven_by_timing() {
  std::vector<Worker> all = {{"d-psgd", Route::peers, {{"global_every", std::int64_t{3}}}},
                             {"d-psgd", Route::peers, {{"order", "step-first"}}}};
  for (const auto& entry : catalog().entries())
    for (const auto route : entry.make.routes) {
      if (entry.make.timing_driven) continue;
      all.push_back({entry.name, route});
      const auto has = [&](const char* name) {
        return std::ranges::any_of(entry.options, [&](const auto& option) { return option.name == name; });
      };
      if (has("h")) all.back().options["h"] = std::int64_t{3};
      if (has("tau")) all.back().options["tau"] = std::int64_t{3};
    }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, RestoredWorkers, ::testing::ValuesIn(not_driven_by_timing()));

class WorkerReplay : public ::testing::TestWithParam<Worker> {};

/// Every kind of event in any order that is possible for a worker, each converted to text and back.
TEST_P(WorkerReplay, GivesTheSameDecisions) {
  const int last = GetParam().algorithm == "sequential" ? 0 : workers - 1;
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "worker replay");
    const auto recorded = GetParam().make(last), fresh = GetParam().make(last);
    const auto see = [&](const WorkerEvent& event) {
      const std::string decided = decide_in_words(*recorded, event);
      EXPECT_EQ(decide_in_words(*fresh, parse_worker_event(to_text(event))), decided) << to_text(event);
      return decided;
    };
    int local_steps = 0;
    for (int step = 0; step < 60 && !HasFailure(); ++step) {
      const Seconds now(step + random.uniform());
      std::string decided = see(StepBegin{local_steps++});
      if (decided.starts_with("continue")) {
        std::optional<bool> answer;
        if (random.below(2) > 0) answer = random.below(2) == 0;
        decided = see(StepDone{now, Seconds(random.uniform()), batch, local_steps, answer});
      }
      if (decided == "ask") decided = see(Answer{now, random.below(2) == 0});
      if (!decided.starts_with("exchange")) continue;
      local_steps = 0;
      if (random.below(3) == 0) see(LocalSteps{1 + static_cast<int>(random.below(5))});
    }
  }
}

std::vector<Worker> all_workers() {
  std::vector<Worker> all = {{"d-psgd", Route::peers, {{"order", std::string("step-first")}}},
                             {"esync", Route::server, {{"weights", std::string("samples")}}}};
  for (const auto& entry : catalog().entries())
    for (const auto route : entry.make.routes) all.push_back({entry.name, route});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, WorkerReplay, ::testing::ValuesIn(all_workers()));

TEST(WorkerEvents, RoundTripAsText) {
  const std::vector<std::pair<WorkerEvent, std::string>> all = {
      {StepBegin{3}, "step_begin steps=3"},
      {StepDone{Seconds(3.5), Seconds(0.25), 8, 2}, "step_done samples=8 steps=2 duration=0.25 now=3.5"},
      {StepDone{Seconds(3.5), Seconds(0.25), 8, 2, false},
       "step_done samples=8 steps=2 duration=0.25 answer=0 now=3.5"},
      {StepDone{Seconds(3.5), Seconds(0.25), 8, 2, true},
       "step_done samples=8 steps=2 duration=0.25 answer=1 now=3.5"},
      {Answer{Seconds(1), true}, "answer ready=1 now=1"},
      {Answer{Seconds(1), false}, "answer ready=0 now=1"},
      {LocalSteps{5}, "local_steps steps=5"},
      {Members{7, {0, 2, 3}}, "members round=7 workers=0,2,3"},
      {Members{0, {}}, "members round=0 workers="}};
  for (const auto& [event, text] : all) {
    EXPECT_EQ(to_text(event), text);
    EXPECT_EQ(to_text(parse_worker_event(text)), text);
  }
  for (const char* text : {"", "step_begin", "step_begin steps=x", "push worker=0", "answer ready=2 now=1",
                           "answer ready=1", "local_steps", "members round=1", "members round=1 workers=0,x"})
    EXPECT_THROW(parse_worker_event(text), ConfigError) << text;
}

TEST(WorkerEvents, DecisionsAtTheBeginningOfAStepAreOneText) {
  EXPECT_EQ(to_text(StepBeginDecision{}), "continue");
  EXPECT_EQ(to_text(StepBeginDecision{Exchange{Payload::model, {0, 2}}, false}),
            "exchange model members=0,2");
  EXPECT_EQ(to_text(StepBeginDecision{{}, true}), "continue; report");
  EXPECT_EQ(to_text(StepBeginDecision{{}, true, true}), "continue; report and wait");
  EXPECT_EQ(to_text(StepBeginDecision{.exchange = Exchange{.payload = Payload::change, .weight = 0.0},
                                      .passes = true}),
            "exchange change weight=0; pass");
}

class ServerReplay : public ::testing::TestWithParam<std::string> {};

/// The same events; the first half is converted to text and back.
TEST_P(ServerReplay, GivesTheSameDecisions) {
  const auto& entry = catalog().find(GetParam());
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    const std::vector<double> durations =
        entry.make.most_workers == 1 ? std::vector{1.0} : std::vector{1.0, 1.3, 0.6, 2.2};
    testing::PolicyRun run(GetParam(), durations, {}, Rng::stream(seed, "steps"));
    run.run_updates(40);
    const auto fresh = entry.make.make_server(run.setting());
    for (const auto& line : run.log())
      ASSERT_EQ(to_text(decide(*fresh, parse_server_event(line.event))), line.decisions) << line.event;
  }
}

std::vector<std::string> with_servers() {
  std::vector<std::string> names;
  for (const auto& entry : catalog().entries())
    if (entry.make.make_server != nullptr) names.push_back(entry.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, ServerReplay, ::testing::ValuesIn(with_servers()));

}  // namespace TANDEM_FILE
}  // namespace tandem::sync

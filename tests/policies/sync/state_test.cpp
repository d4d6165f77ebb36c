// Serialised policies: a new policy restored from the state of another one makes the same decisions from then
// on, for every algorithm of the catalogue with random options.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/sync/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/support/algorithms.hpp"
#include "tests/support/names.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/random_options.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

using testing::PolicyRun;

class ServerState : public ::testing::TestWithParam<std::string> {};

/// Two runs of the same events; in one of them, policies are replaced at random times.
TEST_P(ServerState, RestoredPoliciesDecideLikeTheOriginals) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun whole = testing::random_run(GetParam(), seed), replaced = testing::random_run(GetParam(), seed);
    Rng random = Rng::stream(seed, "replacements");
    for (int updates = 0; updates < 100;) {
      updates += 1 + static_cast<int>(random.below(30));
      for (PolicyRun* run : {&whole, &replaced}) run->run_updates(updates);
      replaced.replace_policies();
      // The state contains everything that events have changed: it is the same in both runs.
      ASSERT_EQ(whole.states(), replaced.states());
      const int leaver = static_cast<int>(random.below(static_cast<std::uint64_t>(whole.setting().workers)));
      if (random.below(4) > 0 || !whole.can_lose(leaver)) continue;
      for (PolicyRun* run : {&whole, &replaced}) run->leave(leaver);
    }
    for (PolicyRun* run : {&whole, &replaced}) run->stop();
    ASSERT_EQ(whole.log().size(), replaced.log().size());
    for (std::size_t i = 0; i < whole.log().size(); ++i) {
      ASSERT_EQ(whole.log()[i].event, replaced.log()[i].event);
      ASSERT_EQ(whole.log()[i].decisions, replaced.log()[i].decisions) << whole.log()[i].event;
    }
  }
}

/// Damaged states are rejected, never partly restored.
TEST_P(ServerState, RefusesStatesOfAnotherShape) {
  PolicyRun run = testing::random_run(GetParam(), 1);
  run.run_updates(20);
  const auto make = [&] { return catalog().find(GetParam()).make.make_server(run.setting()); };
  const std::string state = serialised(*make());
  EXPECT_THROW(restore(*make(), state + " stranger=1"), ConfigError);
  if (state.empty()) return;
  EXPECT_THROW(restore(*make(), state + " " + state), ConfigError);
  EXPECT_THROW(restore(*make(), state.substr(state.find('=') + 1)), ConfigError);
  EXPECT_THROW(restore(*make(), state + "x"), ConfigError);
  EXPECT_THROW(restore(*make(), ""), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ServerState, ::testing::ValuesIn(testing::algorithms_over(Route::server)),
                         testing::catalog_name);

class WorkerState : public ::testing::TestWithParam<std::string> {};

/// Every kind of event in any order that is possible for a worker.
TEST_P(WorkerState, RestoredPoliciesDecideLikeTheOriginals) {
  const auto& entry = catalog().find(GetParam());
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "worker state");
    const Setting setting = testing::random_setting(entry.name, random);
    const int index = static_cast<int>(random.below(static_cast<std::uint64_t>(setting.workers)));
    const auto whole = entry.make.make_worker(setting, index);
    auto replaced = entry.make.make_worker(setting, index);
    const auto see = [&](const WorkerEvent& event) {
      if (random.below(5) == 0) {
        auto fresh = entry.make.make_worker(setting, index);
        restore(*fresh, serialised(*replaced));
        EXPECT_EQ(serialised(*fresh), serialised(*replaced));
        replaced = std::move(fresh);
      }
      const std::string decided = decide_in_words(*whole, event);
      EXPECT_EQ(decide_in_words(*replaced, event), decided) << to_text(event);
      return decided;
    };
    int local_steps = 0;
    for (int step = 0; step < 100 && !HasFailure(); ++step) {
      const Seconds now(step + random.uniform());
      std::string decided = see(StepBegin{local_steps++});
      if (decided.starts_with("continue")) {
        std::optional<bool> answer;
        if (random.below(2) > 0) answer = random.below(2) == 0;
        decided = see(StepDone{now, Seconds(random.uniform()), 8, local_steps, answer});
      }
      if (decided == "ask") decided = see(Answer{now, random.below(2) == 0});
      if (!decided.starts_with("exchange")) continue;
      local_steps = 0;
      if (random.below(3) == 0) see(LocalSteps{1 + static_cast<int>(random.below(5))});
      if (random.below(5) > 0) continue;
      Members members{.round = static_cast<int>(random.below(20)), .workers = {}};
      for (int worker = 0; worker < setting.workers; ++worker)
        if (worker == index || random.below(2) == 0) members.workers.push_back(worker);
      see(members);
    }
    EXPECT_EQ(serialised(*whole), serialised(*replaced));
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, WorkerState, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

/// Numbers of the right shape that no policy could have saved: decisions from them would not end, or would
/// read beyond the members of a group.
TEST(DamagedStates, ThatNoPolicyCanHaveAreRejected) {
  const auto& group_average = catalog().find("group-average");
  const Setting setting{.workers = 4,
                        .batch = 8,
                        .route = Route::all_reduce,
                        .options = Options::resolve("group-average", group_average.options, {})};
  const auto groups = [&] { return group_average.make.make_worker(setting, 0); };
  std::string state = serialised(*groups());
  state.replace(state.find("order=0,1"), 9, "order=1,1");
  EXPECT_THROW(restore(*groups(), state), ConfigError);

  const auto collecting = [&] {
    PolicyRun run = testing::random_run("rennala", 1);
    return catalog().find("rennala").make.make_server(run.setting());
  };
  std::string collected = serialised(*collecting());
  collected.replace(collected.find("collected=0"), 11, "collected=999999");
  EXPECT_THROW(restore(*collecting(), collected), ConfigError);
}

/// Jobs that an earlier version saved continue: their states have these names.
TEST(SavedStates, KeepTheNamesOfTheirValues) {
  const auto names_in = [](const std::string& algorithm) {
    const auto& entry = catalog().find(algorithm);
    const Setting setting{.workers = 2,
                          .batch = 8,
                          .route = Route::server,
                          .options = Options::resolve(algorithm, entry.options, {})};
    std::vector<std::string> names;
    for (const std::string& state :
         {serialised(*entry.make.make_worker(setting, 0)), serialised(*entry.make.make_server(setting))})
      for (std::size_t end = state.find('='); end != std::string::npos; end = state.find('=', end + 1)) {
        const std::size_t space = state.rfind(' ', end);
        const std::size_t begin = space == std::string::npos ? 0 : space + 1;
        names.push_back(state.substr(begin, end - begin));
      }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_in("fedavg"), (Names{"steps", "samples", "local_steps", "active", "expected", "arrived",
                                       "pushes_of_departed", "version"}));
  EXPECT_EQ(names_in("adacomm"), (Names{"steps", "samples", "local_steps", "active", "expected", "arrived",
                                        "pushes_of_departed", "version", "steps", "told", "next_change",
                                        "started", "first_loss", "rate", "loss_of", "loss"}));
}

TEST(RestoreEvents, ContainTheStateAsText) {
  EXPECT_EQ(restore_event("version=7 active=11"), "restore version=7 active=11");
  EXPECT_EQ(restored_state(restore_event("version=7 active=11")), "version=7 active=11");
  EXPECT_EQ(restored_state(restore_event("")), "");
  EXPECT_EQ(restored_state("left worker=1 now=3"), std::nullopt);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync

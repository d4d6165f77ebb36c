// Properties of every algorithm of the catalogue with random options: the invariants of
// tests/support/server_log.hpp, progress, termination, and replay.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/support/algorithms.hpp"
#include "tests/support/names.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/random_options.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

using testing::PolicyRun;
using testing::random_run;

class SyncAlgorithms : public ::testing::TestWithParam<std::string> {};

TEST_P(SyncAlgorithms, AnswerEveryPushOnceWithoutDeadlock) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun run = random_run(GetParam(), seed);
    run.run_updates(100);
    EXPECT_EQ(run.version(), 100) << "no event is left";
    run.stop();
    testing::ServerLaws::expect_kept(run.log(), run.setting().workers, true);
    if (HasFailure()) return;
  }
}

using LongSyncAlgorithms = SyncAlgorithms;

TEST_P(LongSyncAlgorithms, ContinueWhenWorkersLeave) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun run = random_run(GetParam(), seed);
    Rng random = Rng::stream(seed, "leavers");
    const int workers = run.setting().workers;
    int updates = 0;
    for (int left = 0; left + 1 < workers;) {
      updates += static_cast<int>(random.below(20));
      run.run_updates(updates);
      ASSERT_EQ(run.version(), updates) << "after " << left << " have left";
      updates = run.version();
      // A worker that waits cannot leave.
      std::vector<int> able;
      for (int worker = 0; worker < workers; ++worker)
        if (!run.is_waiting(worker) && !run.has_left(worker)) able.push_back(worker);
      run.leave(able.at(random.below(able.size())));
      updates = std::max(updates, run.version());
      ++left;
    }
    run.run_updates(updates + 50);
    EXPECT_EQ(run.version(), updates + 50) << "the last worker is stuck";
    run.stop();
    testing::ServerLaws::expect_kept(run.log(), workers, true);
    if (HasFailure()) return;
  }
}

/// Every reply brings its worker exactly one new update with the weight 1.
bool keeps_lockstep(const testing::ServerLog& log, int workers) {
  std::vector<int> versions(static_cast<std::size_t>(workers), 0);
  int version = 0;
  for (const auto& line : log)
    for (const auto& decision : testing::decisions_of(line)) {
      if (decision[0] == "apply") {
        if (decision[1] != "1") return false;
        ++version;
      }
      if (decision[0] != "reply") continue;
      int& had = versions.at(static_cast<std::size_t>(std::stoi(decision[1])));
      if (++had != version) return false;
    }
  return true;
}

/// The property also holds when workers leave.
TEST_P(SyncAlgorithms, AreInLockstepIfDeclared) {
  const Factory& algorithm = catalog().find(GetParam()).make;
  bool kept = true;
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun run = random_run(GetParam(), seed);
    const UpdateRule rule = algorithm.update_rule(run.setting());
    kept = kept && algorithm.payload == Payload::gradient && std::holds_alternative<PlainUpdate>(rule);
    run.run_updates(40);
    if (seed % 2 == 0 && !run.is_waiting(0) && run.setting().workers > 1) run.leave(0);
    run.run_updates(80);
    run.stop();
    kept = kept && keeps_lockstep(run.log(), run.setting().workers);
  }
  EXPECT_EQ(kept, algorithm.lockstep);
}

TEST_P(SyncAlgorithms, ReplayFromTheirLog) {
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun run = random_run(GetParam(), seed);
    run.run_updates(60);
    run.stop();
    testing::expect_replays(GetParam(), run.setting(), run.log());
  }
}

TEST_P(SyncAlgorithms, OneWorkerIsSequential) {
  std::map<std::string, OptionValue> options;
  for (const auto& spec : catalog().find(GetParam()).options)
    if (spec.name == "k" || spec.name == "b") options[spec.name] = std::int64_t{1};
  PolicyRun run(GetParam(), {0.5}, options);
  run.run_updates(20);
  for (const auto& line : run.log()) {
    if (line.event.starts_with("report")) continue;
    const auto decisions = testing::decisions_of(line);
    ASSERT_EQ(decisions.size(), 3U) << line.decisions;
    EXPECT_EQ(decisions[0][0], "accept");
    const auto rest = line.decisions.substr(line.decisions.find(';'));
    EXPECT_EQ(rest.substr(0, rest.find(" steps=")), "; apply 1; reply 0");
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, SyncAlgorithms,
                         ::testing::ValuesIn(testing::algorithms_over(Route::server)), testing::catalog_name);

INSTANTIATE_TEST_SUITE_P(LongCatalogue, LongSyncAlgorithms,
                         ::testing::ValuesIn(testing::algorithms_over(Route::server)), testing::catalog_name);

}  // namespace TANDEM_FILE
}  // namespace tandem::sync

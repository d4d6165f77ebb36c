// Workers that leave and join again at random, for every algorithm of the catalogue: nobody waits for ever,
// nobody absent is answered, every push counts once, and the bounds hold for those present.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/sync/replay.hpp"
#include "tests/support/algorithms.hpp"
#include "tests/support/names.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/random_options.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

using testing::PolicyRun;
using testing::ServerLog;

/// Wait for all present workers before each update, or for a number of them.
const std::set<std::string> barriers = {"sequential", "bsp",   "k-sync",          "lb-bsp", "local-sgd",
                                        "adacomm",    "esync", "esync-published", "fedavg", "slowmo",
                                        "diloco",     "easgd", "post-local-sgd"};
/// Use gradients of the current model only.
const std::set<std::string> collectors = {"k-batch-sync", "rennala"};

Push push_of(int worker, int version, double at, double took = 1.0, int samples = 8) {
  return {Seconds(at), worker, version, samples, 1, Seconds(took), 1.0, 0.0};
}

int present_in(const PolicyRun& run) {
  int present = 0;
  for (int worker = 0; worker < run.setting().workers; ++worker) present += run.has_left(worker) ? 0 : 1;
  return present;
}

/// A worker leaves, whether it waits or computes, or an absent one joins; or both, or neither. At least one
/// stays, except where only one is possible.
void change_members(PolicyRun& run, Rng& random) {
  const auto workers = static_cast<std::uint64_t>(run.setting().workers);
  for (auto changes = random.below(4); changes > 0; --changes) {
    const int worker = static_cast<int>(random.below(workers));
    if (run.has_left(worker))
      run.join(worker, static_cast<int>(random.below(3)) / 2);
    else if (present_in(run) > 1 || workers == 1)
      run.leave(worker);
  }
  if (present_in(run) == 0) run.join(static_cast<int>(random.below(workers)));
}

PolicyRun changing_run(const std::string& algorithm, std::uint64_t seed, int changes = 40) {
  PolicyRun run = testing::random_run(algorithm, seed);
  Rng random = Rng::stream(seed, "members");
  for (int change = 0; change < changes; ++change) {
    const int updates = run.version() + static_cast<int>(random.below(6));
    run.run_updates(updates);
    EXPECT_GE(run.version(), updates) << "no event is left";
    change_members(run, random);
  }
  return run;
}

class SyncMembership : public ::testing::TestWithParam<std::string> {
 protected:
  const Algorithm& entry() const { return catalog().find(GetParam()); }
};

TEST_P(SyncMembership, IsBorneAsTheCatalogueSays) {
  EXPECT_EQ(entry().make.membership.bears, Membership::Bears::departures_and_arrivals);
  EXPECT_NE(entry().make.membership.how, Membership{}.how);
}

void expect_that_nobody_waits_for_ever(const std::string& algorithm, std::uint64_t seeds) {
  for (const auto seed : testing::seeds(seeds)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun run = changing_run(algorithm, seed);
    // While all others keep pushing, each worker is answered.
    std::vector<std::size_t> pushes;
    for (int worker = 0; worker < run.setting().workers; ++worker) pushes.push_back(run.steps(worker).size());
    run.run_updates(run.version() + 400);
    for (int worker = 0; worker < run.setting().workers; ++worker) {
      if (run.has_left(worker)) continue;
      EXPECT_GT(run.steps(worker).size(), pushes[static_cast<std::size_t>(worker)] + 1) << worker;
    }
    // And when they leave one after the other.
    run.stop();
    testing::ServerLaws::expect_kept(run.log(), run.setting().workers, true);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_P(SyncMembership, NobodyWaitsForEver) { expect_that_nobody_waits_for_ever(GetParam(), 25); }

using LongSyncMembership = SyncMembership;
TEST_P(LongSyncMembership, NobodyWaitsForEver) { expect_that_nobody_waits_for_ever(GetParam(), 60); }
INSTANTIATE_TEST_SUITE_P(LongCatalogue, LongSyncMembership,
                         ::testing::ValuesIn(testing::algorithms_over(Route::server)), testing::catalog_name);

TEST_P(SyncMembership, ReplaysFromTheLog) {
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    const PolicyRun run = changing_run(GetParam(), seed);
    testing::expect_replays(GetParam(), run.setting(), run.log());
  }
}

TEST_P(SyncMembership, IsInTheState) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    const PolicyRun run = changing_run(GetParam(), seed);
    Rng random = Rng::stream(seed, "replacements");
    auto server = entry().make.make_server(run.setting());
    for (const auto& line : run.log()) {
      if (random.below(3) == 0) {
        auto fresh = entry().make.make_server(run.setting());
        restore(*fresh, serialised(*server));
        ASSERT_EQ(serialised(*fresh), serialised(*server));
        server = std::move(fresh);
      }
      ASSERT_EQ(to_text(decide(*server, parse_server_event(line.event))), line.decisions) << line.event;
    }
  }
}

/// Samples of pushes by what became of them.
struct Account {
  std::int64_t pushed = 0, applied = 0, dropped = 0, pending = 0;
};

/// Also checks that the shares of the pushes in each mean sum to 1.
Account account_of(const ServerLog& log) {
  Account account;
  std::vector<std::pair<double, int>> aggregate;  ///< weights and samples
  for (const auto& line : log) {
    const ServerEvent event = parse_server_event(line.event);
    const auto* push = std::get_if<Push>(&event);
    if (push != nullptr) account.pushed += push->samples;
    for (const auto& decision : testing::decisions_of(line)) {
      if (decision[0] == "discard") account.dropped += push->samples;
      if (decision[0] == "accept") aggregate.emplace_back(std::stod(decision[2]), push->samples);
      if (decision[0] != "apply") continue;
      double sum = 0.0, shares = 0.0;
      for (const auto& [weight, samples] : aggregate) {
        EXPECT_GT(weight, 0.0);
        sum += weight;
        account.applied += samples;
      }
      for (const auto& [weight, samples] : aggregate) shares += weight / sum;
      EXPECT_NEAR(shares, 1.0, 1e-12);
      aggregate.clear();
    }
  }
  for (const auto& [weight, samples] : aggregate) account.pending += samples;
  return account;
}

TEST_P(SyncMembership, EverySampleIsAccountedFor) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun run = changing_run(GetParam(), seed);
    run.stop();
    const Account account = account_of(run.log());
    EXPECT_EQ(account.pushed, account.applied + account.dropped + account.pending);
    EXPECT_GT(account.applied, 0);
    // A round with pushes ends when the last worker of it leaves.
    if (barriers.contains(GetParam())) {
      EXPECT_EQ(account.pending, 0);
    }
  }
}

/// The events of a run with, for each push, the updates between its model and the current one.
struct StalePush {
  Push push;
  int staleness;
  bool accepted;
};
std::vector<StalePush> pushes_of(const ServerLog& log) {
  std::vector<StalePush> all;
  int version = 0;
  for (const auto& line : log) {
    const ServerEvent event = parse_server_event(line.event);
    const auto decisions = testing::decisions_of(line);
    if (const auto* push = std::get_if<Push>(&event))
      all.push_back({*push, version - push->version, decisions.at(0).at(0) == "accept"});
    version += static_cast<int>(
        std::ranges::count_if(decisions, [](const auto& decision) { return decision[0] == "apply"; }));
  }
  return all;
}

/// Rounds use pushes of the current model only, also those of workers that join during a round.
TEST_P(SyncMembership, StalenessIsWithinTheBound) {
  if (GetParam() == "sync-switch") return;  // no bound after its switch
  const bool fresh = barriers.contains(GetParam()) || collectors.contains(GetParam());
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    const PolicyRun run = changing_run(GetParam(), seed);
    const auto& options = run.setting().options;
    std::int64_t bound = std::int64_t{1} << 40;
    if (fresh) bound = 0;
    if (GetParam() == "ringmaster")
      bound = (options.integer("r") == 0 ? run.setting().workers : options.integer("r")) - 1;
    for (const auto& [push, staleness, accepted] : pushes_of(run.log())) {
      if (push.local_steps == 0) continue;  // its worker has passed the round
      EXPECT_EQ(accepted, staleness <= bound) << to_text(ServerEvent(push));
      if (HasFailure()) return;
    }
  }
}

/// As workers that push say it themselves: one step each, and a newcomer is at the minimum of those present.
void expect_bounded_lead(const ServerLog& log, int workers, std::int64_t bound) {
  std::map<int, std::int64_t> clocks;
  for (int worker = 0; worker < workers; ++worker) clocks[worker] = 0;
  const auto slowest = [&] {
    std::int64_t least = std::int64_t{1} << 40;
    for (const auto& [worker, clock] : clocks) least = std::min(least, clock);
    return least;
  };
  for (const auto& line : log) {
    const ServerEvent event = parse_server_event(line.event);
    if (const auto* push = std::get_if<Push>(&event)) {
      ++clocks.at(push->worker);
      EXPECT_LE(clocks.at(push->worker) - slowest(), bound + 1) << line.event;
    }
    if (const auto* left = std::get_if<Left>(&event)) clocks.erase(left->worker);
    if (const auto* joined = std::get_if<Joined>(&event))
      clocks[joined->worker] = clocks.empty() ? 0 : slowest();
    for (const auto& decision : testing::decisions_of(line))
      if (decision[0] == "reply") {
        EXPECT_LE(clocks.at(std::stoi(decision[1])) - slowest(), bound) << line.event;
      }
  }
}

TEST(BoundedStaleness, HoldsForThoseWhoArePresent) {
  const std::map<std::string, std::string> options = {
      {"ssp", "staleness"}, {"ssp-cached", "staleness"}, {"dynsgd", "staleness"}, {"dssp", "upper"}};
  for (const auto& [algorithm, option] : options)
    for (const auto seed : testing::seeds(100)) {
      TANDEM_TRACE_SEED(seed);
      const PolicyRun run = changing_run(algorithm, seed);
      expect_bounded_lead(run.log(), run.setting().workers, run.setting().options.integer(option));
      if (::testing::Test::HasFailure()) return;
    }
}

/// Without what a newcomer is told anew: its batch and its number of local steps.
std::string without_settings(const std::string& decisions) {
  std::string kept;
  for (const auto& word : testing::words_of(decisions)) {
    const std::string end = word.ends_with(';') ? ";" : "";
    if (word.starts_with("batch=") || word.starts_with("steps="))
      kept += kept.ends_with(';') ? "" : end;
    else
      kept += (kept.empty() ? "" : " ") + word;
  }
  return kept;
}

/// The same events; before some pushes, while no worker waits, workers leave and return at once. Except for
/// what was measured of them, nothing changes.
TEST_P(SyncMembership, AnImmediateReturnBetweenRoundsChangesNothing) {
  std::map<std::string, OptionValue> options;
  for (const char* bound : {"staleness", "lower", "upper"})
    if (std::ranges::count(entry().options, bound, &OptionSpec::name) > 0) options[bound] = std::int64_t{0};
  std::int64_t returned = 0;
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "returns");
    auto durations = testing::random_durations(random);
    if (const int most = entry().make.most_workers; most > 0)
      durations.resize(static_cast<std::size_t>(most));
    PolicyRun run(GetParam(), durations, options, Rng::stream(seed, "steps"));
    run.run_updates(60);
    const auto server = entry().make.make_server(run.setting());
    std::vector<int> versions(durations.size(), 0);
    std::set<int> waiting;
    int version = 0;
    bool has_begun = false;  ///< pushes were accepted since the last update
    for (const auto& line : run.log()) {
      for (std::size_t i = 0; waiting.empty() && !has_begun && i < random.below(3); ++i) {
        const int worker = static_cast<int>(random.below(durations.size()));
        const Joined back{Seconds(0), worker, versions[static_cast<std::size_t>(worker)]};
        ServerDecisions none;
        server->on_left({Seconds(0), worker}, none);
        server->on_joined(back, none);
        EXPECT_EQ(to_text(none), "");
        ++returned;
      }
      const ServerEvent event = parse_server_event(line.event);
      const auto* push = std::get_if<Push>(&event);
      if (push != nullptr) waiting.insert(push->worker);
      const ServerDecisions decisions = decide(*server, event);
      for (const auto& decision : decisions) {
        if (std::holds_alternative<Accept>(decision)) has_begun = true;
        if (std::holds_alternative<Apply>(decision)) ++version, has_begun = false;
        if (const auto* reply = std::get_if<Reply>(&decision)) {
          if (!reply->keeps_model) versions[static_cast<std::size_t>(reply->worker)] = version;
          waiting.erase(reply->worker);
        }
      }
      if (push == nullptr) continue;
      ASSERT_EQ(without_settings(to_text(decisions)), without_settings(line.decisions)) << line.event;
    }
  }
  EXPECT_GT(returned, 0);
}

/// A worker that was never there is like one that left before the first event.
TEST_P(SyncMembership, AnEmptyPlaceIsNotWaitedFor) {
  if (entry().make.most_workers == 1) return;
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun run = testing::random_run(GetParam(), seed);
    const int last = run.setting().workers - 1;
    run.leave(last);
    run.leave(last);
    run.run_updates(20);
    EXPECT_EQ(run.version(), 20);
    run.join(last);
    run.run_updates(run.version() + 200);
    EXPECT_GT(run.steps(last).size(), 1U);
    run.stop();
    testing::ServerLaws::expect_kept(run.log(), run.setting().workers, true);
  }
}

/// Whatever the worker has pushed: the other server never got it.
TEST_P(SyncMembership, ADroppedPushIsAsOneThatHasNotCome) {
  const Factory& make = entry().make;
  if (!make.membership.rounds_are_updates || make.most_workers == 1) return;
  int dropped = 0;
  for (const auto seed : testing::seeds(30)) {
    TANDEM_TRACE_SEED(seed);
    const Setting setting = testing::random_run(GetParam(), seed).setting();
    const auto server = make.make_server(setting), other = make.make_server(setting);
    Rng random = Rng::stream(seed, "losses");
    std::vector<int> present;
    for (int worker = 0; worker < setting.workers; ++worker) present.push_back(worker);
    int version = 0;
    while (present.size() > 1) {
      const auto push = [&](int worker) { return push_of(worker, version, version + 1.0); };
      const auto lost = present.begin() + static_cast<std::ptrdiff_t>(random.below(present.size()));
      const std::string taken = to_text(decide(*server, push(*lost)));
      if (taken.find("apply") != std::string::npos) break;  // a single push ends the round
      ASSERT_EQ(to_text(decide(*server, Left{Seconds(version + 1.0), *lost, true})),
                "discard " + std::to_string(*lost));
      ASSERT_EQ(to_text(decide(*other, Left{Seconds(version + 1.0), *lost, true})), "");
      ++dropped;
      present.erase(lost);
      const int before = version;
      for (const int worker : present) {
        Push next = push(worker);
        next.version = before;
        const std::string decided = to_text(decide(*server, next));
        ASSERT_EQ(decided, to_text(decide(*other, next)));
        version += decided.find("apply") != std::string::npos ? 1 : 0;
      }
      ASSERT_EQ(version, before + 1);
    }
  }
  EXPECT_GT(dropped, 0);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, SyncMembership,
                         ::testing::ValuesIn(testing::algorithms_over(Route::server)), testing::catalog_name);

// ---- What single algorithms forget, and what they tell a newcomer ----

TEST(LbBspMembership, BatchesOfThosePresentSumToTheGlobalBatch) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    PolicyRun run = changing_run("lb-bsp", seed);
    // Two rounds with all, then one of a division.
    run.run_updates(run.version() + 2 + static_cast<int>(run.setting().options.integer("every")));
    int sum = 0;
    for (int worker = 0; worker < run.setting().workers; ++worker) {
      if (run.has_left(worker)) continue;
      EXPECT_GE(run.batch(worker), 1);
      sum += run.batch(worker);
    }
    EXPECT_EQ(sum, run.setting().workers * PolicyRun::configured_batch);
  }
}

TEST(PostLocalSgdMembership, ANewcomerSwitchesWithTheOthers) {
  const auto& algorithm = catalog().find("post-local-sgd");
  const Setting setting{2, 8, Route::server,
                        Options::resolve(algorithm.name, algorithm.options,
                                         {{"h", std::int64_t{3}}, {"switch_round", std::int64_t{2}}})};
  for (const int round : {0, 1, 2, 7}) {
    const auto worker = algorithm.make.make_worker(setting, 1);
    worker->on_members({round, {0, 1}});
    for (int left = 2 - round; left > 0; --left)
      EXPECT_EQ(to_text(worker->on_step_done({Seconds(0), Seconds(1), 8, 1})), "exchange change");
    EXPECT_EQ(to_text(worker->on_step_done({Seconds(0), Seconds(1), 8, 1})), "continue");
  }
}

TEST(SspMembership, WorkersThatLeaveAtTheEndOfTheJobStayInTheMean) {
  const auto& ssp = catalog().find("ssp");
  const auto server = ssp.make.make_server(
      {2, 8, Route::server,
       Options::resolve("ssp", ssp.options, {{"average", true}, {"staleness", std::int64_t{5}}})});
  Push last = push_of(0, 0, 1.0);
  last.done = 1.0;
  EXPECT_EQ(to_text(decide(*server, last)), "accept 0 1; apply 0.5; reply 0");
  EXPECT_EQ(to_text(decide(*server, Left{Seconds(1), 0})), "");
  last.worker = 1;
  EXPECT_EQ(to_text(decide(*server, last)), "accept 1 1; apply 0.5; reply 1");
}

/// In each period, a worker that is present all the time makes as many commits as the others.
TEST(AdspMembership, ANewcomerCommitsAsOftenAsTheOthers) {
  PolicyRun run("adsp", {0.5, 0.7, 0.9}, {{"period_s", 40.0}, {"search_every", std::int64_t{0}}});
  run.run_updates(10);
  run.leave(2);
  while (run.now() < 100.0) run.run_updates(run.version() + 1);
  run.join(2);
  while (run.now() < 120.0) run.run_updates(run.version() + 1);
  const auto first = run.steps(2).size(), other = run.steps(0).size();
  while (run.now() < 320.0) run.run_updates(run.version() + 1);
  EXPECT_NEAR(static_cast<double>(run.steps(2).size() - first), 20.0, 1.0);
  EXPECT_NEAR(static_cast<double>(run.steps(0).size() - other), 20.0, 1.0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync

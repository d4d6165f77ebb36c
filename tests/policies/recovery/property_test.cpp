// Properties of every policy of the catalogue with random settings and options, in random jobs and on random
// events: decisions fit what is known, texts round-trip, replayed events reproduce the decisions, a restored
// policy decides like the original.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "policies/provisioning/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/policies/recovery/job_run.hpp"
#include "tests/support/names.hpp"
#include "tests/support/random_options.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::recovery {
namespace TANDEM_FILE {

using testing::MachineTraits;
using testing::make_recovery;
using testing::RecoveryRun;

/// A job of any shape, with a policy of the catalogue.
struct Job {
  Setting setting;
  testing::RecoveryOptions options;
  MachineTraits traits;
  int present = 0;  ///< workers that are there at the start

  Job(const std::string& policy, Rng& random) {
    setting.workers = 1 + static_cast<int>(random.below(6));
    setting.slots = setting.workers + static_cast<int>(random.below(4));
    setting.least = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(setting.workers)));
    setting.give_up = Seconds(random.below(2) == 0 ? 0.0 : 50.0 + 1000.0 * random.uniform());
    if (random.below(2) == 0)
      for (int slot = 0; slot < setting.slots; ++slot) setting.zones.push_back(random.below(3) * 5);
    if (random.below(2) == 0)
      for (int slot = 0; slot < setting.slots; ++slot)
        setting.machines.push_back({random.uniform(), 0.5 + random.uniform(), random.below(2) == 0});
    for (const auto& spec : catalog().find(policy).options)
      if (random.below(4) > 0) options[spec.name] = testing::random_value(spec, random);
    const auto& provisionings = provisioning::catalog().entries();
    const auto& provisioning = provisionings[random.below(provisionings.size())];
    setting.provisioning = provisioning.name;
    for (const auto& spec : provisioning.options)
      if (random.below(4) > 0) setting.provisioning_options[spec.name] = testing::random_value(spec, random);
    // Values between 0 and 1 are too small for most of these.
    for (const char* seconds : {"retry_s", "cooldown_within_s", "cooldown_s", "longest_wait_s"})
      if (options.contains(seconds)) options[seconds] = std::get<double>(options[seconds]) * 100.0;
    traits.life_s = 30.0 + 200.0 * random.uniform();
    traits.by_itself = random.below(2) == 0 ? 0.0 : 0.1;
    traits.failure = random.below(2) == 0 ? 0.0 : 0.5;
    if (random.below(2) == 0)
      setting.survival = [mean_s = traits.life_s](Seconds age) { return std::exp(-age.count() / mean_s); };
    present = random.below(3) > 0
                  ? setting.workers
                  : static_cast<int>(random.below(static_cast<std::uint64_t>(setting.workers)));
  }
};

class RecoveryPolicies : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Policy> make(const Job& job) const {
    return make_recovery(GetParam(), job.setting, job.options);
  }
};

TEST_P(RecoveryPolicies, DecideWhatFitsAndReplayFromTheirLog) {
  int admitted = 0, given_up = 0;
  for (const auto seed : testing::seeds(200)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, GetParam());
    const Job job(GetParam(), random);
    const auto policy = make(job);
    RecoveryRun run([&](const Event& event) { return decide(*policy, event); }, job.setting, job.traits,
                    job.present, seed);
    run.run_events(200);
    std::vector<std::string> events;
    for (const auto& line : run.log()) {
      events.push_back(line.event);
      EXPECT_EQ(to_text(parse_event(line.event)), line.event);
      EXPECT_EQ(to_text(parse_decisions(line.decisions)), line.decisions);
    }
    EXPECT_EQ(replay(*make(job), events), run.log());
    EXPECT_TRUE(GetParam() != "shrink" || run.requests() == 0);
    EXPECT_TRUE(GetParam() == "restart" || GetParam() == "liveput" || run.rollbacks() == 0);
    admitted += run.admitted();
    given_up += run.gave_up() ? 1 : 0;
    if (HasFailure()) return;
  }
  if (std::getenv("TANDEM_TEST_SEED") != nullptr) return;
  EXPECT_GT(admitted, 0);
  EXPECT_GT(given_up, 0);
}

TEST_P(RecoveryPolicies, RestoredPoliciesDecideLikeTheOriginals) {
  for (const auto seed : testing::seeds(100)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, GetParam());
    const Job job(GetParam(), random);
    const auto policy = make(job);
    auto replaced = make(job);
    RecoveryRun run(
        [&](const Event& event) {
          if (random.below(4) == 0) {
            auto fresh = make(job);
            restore(*fresh, serialised(*replaced));
            replaced = std::move(fresh);
          }
          const auto decisions = decide(*policy, event);
          EXPECT_EQ(to_text(decide(*replaced, event)), to_text(decisions)) << to_text(event);
          EXPECT_EQ(serialised(*replaced), serialised(*policy));
          return decisions;
        },
        job.setting, job.traits, job.present, seed);
    run.run_events(150);
    if (HasFailure()) return;
  }
}

/// Events in any order, also those that no job sends.
Event random_event(Rng& random, int slots, Seconds now) {
  const auto slot = static_cast<int>(random.below(static_cast<std::uint64_t>(slots)));
  const auto incarnation = static_cast<int>(1 + random.below(6));
  switch (random.below(5)) {
    case 0:
      return Warned{now, slot, Seconds(30.0 * random.uniform())};
    case 1:
      return Departed{now, slot, incarnation, static_cast<How>(random.below(3))};
    case 2:
      return Ready{now, slot, incarnation};
    case 3:
      return RequestFailed{now, slot};
    default:
      return Tick{now};
  }
}

TEST_P(RecoveryPolicies, ReplayRandomEvents) {
  for (const auto seed : testing::seeds(100)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, GetParam());
    const Job job(GetParam(), random);
    const auto policy = make(job), fresh = make(job);
    std::vector<LogLine> log;
    std::vector<std::string> events;
    Seconds now;
    for (int i = 0; i < 200; ++i) {
      const Event event =
          i == 0 ? Event(Started{now, job.present}) : random_event(random, job.setting.slots, now);
      ASSERT_EQ(parse_event(to_text(event)), event);
      const Decisions decisions = decide(*policy, event);
      ASSERT_EQ(parse_decisions(to_text(decisions)), decisions);
      log.push_back({to_text(event), to_text(decisions)});
      events.push_back(to_text(event));
      now += Seconds(random.below(3) == 0 ? 0.0 : 20.0 * random.uniform());
    }
    ASSERT_EQ(replay(*fresh, events), log);
    ASSERT_EQ(serialised(*fresh), serialised(*policy));
  }
}

TEST_P(RecoveryPolicies, RefuseStatesOfAnotherShape) {
  const Setting setting{.workers = 2, .slots = 3};
  const auto policy = make_recovery(GetParam(), setting);
  decide(*policy, Started{Seconds(), 2});
  const std::string state = serialised(*policy);
  restore(*make_recovery(GetParam(), setting), state);
  const auto refuses = [&](const std::string& damaged) {
    EXPECT_THROW(restore(*make_recovery(GetParam(), setting), damaged), ConfigError) << damaged;
  };
  const auto refuses_value = [&](const std::string& name, const std::string& value) {
    const auto begin = (' ' + state).find(' ' + name + '=');
    ASSERT_NE(begin, std::string::npos) << name << " in " << state;
    const auto end = std::min(state.find(' ', begin), state.size());
    refuses(state.substr(0, begin) + name + '=' + value + state.substr(end));
  };
  refuses("");
  refuses(state + " stranger=1");
  refuses(state + " " + state);
  refuses_value("slots", "3,3");
  refuses_value("slots", "3,3,4");
  refuses_value("slots", "3,3,-1");
  refuses_value("slots", "3,3,3");
  refuses_value("incarnations", "1,0,0");
  refuses_value("incarnations", "1,1,-1");
  refuses_value("warned", "0,0,1");
  refuses_value("failed_requests", "0,0,-1");
  refuses_value("cooldowns", "-1");
  refuses_value("death_groups", "0");
  refuses_value("paused", "2");
  refuses_value("tick", "1,2");
  refuses(serialised(*make_recovery(GetParam(), {.workers = 2, .slots = 4})));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, RecoveryPolicies, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

/// Without failures of requests and waits, the wanted machines are always there or requested.
TEST(WantedMachines, AreThereOrRequested) {
  for (const auto seed : testing::seeds(50)) {
    TANDEM_TRACE_SEED(seed);
    for (const char* name : {"replace", "spares", "restart", "liveput"}) {
      const Setting setting{.workers = 4, .slots = 6};
      const auto policy = make_recovery(name, setting);
      RecoveryRun run([&](const Event& event) { return decide(*policy, event); }, setting,
                      {.failure = 0.0, .early_end = 0.0}, setting.workers, seed);
      run.after_event = [&](const Event&) {
        EXPECT_EQ(run.machines(), std::string(name) == "spares" ? setting.slots : setting.workers);
      };
      run.run_events(300);
      if (HasFailure()) return;
    }
  }
}

TEST(RecoveryTexts, AreReadable) {
  EXPECT_EQ(to_text(Event(Started{Seconds(0.5), 4})), "started workers=4 now=0.5");
  EXPECT_EQ(to_text(Event(Warned{Seconds(3.0), 2, Seconds(30.0)})), "warned slot=2 notice=30 now=3");
  EXPECT_EQ(to_text(Event(Departed{Seconds(3.0), 2, 1, How::revoked})),
            "departed slot=2 incarnation=1 how=revoked now=3");
  EXPECT_EQ(to_text(Event(Ready{Seconds(3.0), 2, 1})), "ready slot=2 incarnation=1 now=3");
  EXPECT_EQ(to_text(Event(RequestFailed{Seconds(3.0), 2})), "request_failed slot=2 now=3");
  EXPECT_EQ(to_text(Event(Tick{Seconds(3.0)})), "tick now=3");
  EXPECT_EQ(to_text(Decisions{Admit{4}, Release{1}, Pause{}, Resume{}, Rollback{}, Request{2},
                              WakeAt{Seconds(12.5)}}),
            "admit slot=4; release slot=1; pause; resume; rollback; request slot=2; wake_at seconds=12.5");
  EXPECT_EQ(to_text(Decisions{}), "");
  EXPECT_EQ(parse_decisions(""), Decisions());
}

TEST(RecoveryTexts, ReasonsMayContainAnyCharacter) {
  for (const char* why : {"", "too few", " a; pause; b=c ", "give_up why=x", "two\nlines"}) {
    const Decisions decisions = {Pause{}, GiveUp{why}};
    EXPECT_EQ(parse_decisions(to_text(decisions)), decisions);
    EXPECT_EQ(parse_decisions(to_text(Decisions{GiveUp{why}})), Decisions{GiveUp{why}});
  }
}

TEST(RecoveryTexts, OthersAreRefused) {
  for (const char* text :
       {"", "tick", "left worker=1 now=3", "started workers=x now=1", "started workers=1 now=1 slot=2",
        "tick now=1 now=1", "tick 1", "departed slot=2 incarnation=1 how=gone now=3", "tick now=3s"}) {
    try {
      parse_event(text);
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.what(), "not a recorded recovery event: '" + std::string(text) + "'");
    }
  }
  for (const char* text : {"admit", "pause 1", "pause slot=1", "wake_at seconds=x", "request slot=1.5",
                           "pause; ; resume", "give_up", "give_up reason=x"})
    EXPECT_THROW(parse_decisions(text), ConfigError) << text;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::recovery

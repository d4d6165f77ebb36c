// Properties of every policy of the catalogue with random options, in random jobs and on random events: texts
// round-trip, replayed events reproduce the decisions, a restored policy decides like the original.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/policies/checkpointing/job_run.hpp"
#include "tests/support/names.hpp"
#include "tests/support/random_options.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::checkpointing {
namespace TANDEM_FILE {

using testing::CheckpointOptions;
using testing::JobRun;
using testing::make_checkpointing;

/// Drawn until the policy accepts them.
CheckpointOptions random_options(const std::string& name, Rng& random) {
  for (;;) {
    CheckpointOptions options;
    for (const auto& spec : catalog().find(name).options)
      if (random.below(4) > 0) options[spec.name] = testing::random_value(spec, random);
    // Values between 0 and 1 are too small for most of these.
    for (const char* seconds : {"interval", "mtbf_s", "scale_s"})
      if (options.contains(seconds)) options[seconds] = std::get<double>(options[seconds]) * 1000.0 + 1.0;
    try {
      make_checkpointing(name, options);
      return options;
    } catch (const ConfigError&) {
      continue;
    }
  }
}

testing::JobTraits random_traits(Rng& random) {
  return {.machines = 1 + static_cast<int>(random.below(6)),
          .round_s = 0.1 + random.uniform(),
          .commit_s = random.uniform(),
          .loss = random.below(2) == 0 ? 0.0 : 0.02,
          .warning = random.below(2) == 0 ? 0.0 : 0.05,
          .notice_s = 5.0,
          .commit_failure = random.below(2) == 0 ? 0.0 : 0.2};
}

class CheckpointingPolicies : public ::testing::TestWithParam<std::string> {};

TEST_P(CheckpointingPolicies, ReplayFromTheirLog) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, GetParam());
    const auto options = random_options(GetParam(), random);
    const auto policy = make_checkpointing(GetParam(), options);
    JobRun run([&](const Event& event) { return decide(*policy, event); }, random_traits(random), seed);
    run.run_rounds(200);
    std::vector<std::string> events;
    for (const auto& line : run.log()) {
      events.push_back(line.event);
      EXPECT_EQ(to_text(parse_event(line.event)), line.event);
      EXPECT_EQ(to_text(parse_decisions(line.decisions)), line.decisions);
    }
    EXPECT_EQ(replay(*make_checkpointing(GetParam(), options), events), run.log());
    if (HasFailure()) return;
  }
}

TEST_P(CheckpointingPolicies, RestoredPoliciesDecideLikeTheOriginals) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, GetParam());
    const auto options = random_options(GetParam(), random);
    const auto policy = make_checkpointing(GetParam(), options);
    auto replaced = make_checkpointing(GetParam(), options);
    JobRun run(
        [&](const Event& event) {
          if (random.below(5) == 0) {
            auto fresh = make_checkpointing(GetParam(), options);
            restore(*fresh, serialised(*replaced));
            replaced = std::move(fresh);
          }
          const auto decisions = decide(*policy, event);
          EXPECT_EQ(to_text(decide(*replaced, event)), to_text(decisions)) << to_text(event);
          EXPECT_EQ(serialised(*replaced), serialised(*policy));
          return decisions;
        },
        random_traits(random), seed);
    run.run_rounds(150);
    if (HasFailure()) return;
  }
}

/// Events in any order, also those that no job sends.
Event random_event(Rng& random, Seconds now) {
  const auto slot = static_cast<int>(random.below(4));
  const auto incarnation = static_cast<int>(1 + random.below(3));
  const auto round = static_cast<std::int64_t>(random.below(1000));
  const Seconds duration(random.uniform());
  switch (random.below(7)) {
    case 0:
      return Started{now, round};
    case 1:
      return RoundDone{now, round, slot, duration};
    case 2:
      return Warned{now, slot, duration * 10.0};
    case 3:
      return Departed{now, slot, incarnation, static_cast<Departure>(random.below(3))};
    case 4:
      return Ready{now, slot, incarnation, random.below(2) == 0 ? Seconds() : duration * 1e4};
    case 5:
      return Committed{now, round, duration, random.below(2) == 0 ? Seconds() : duration * 3.0};
    default:
      return CommitFailed{now};
  }
}

TEST_P(CheckpointingPolicies, ReplayRandomEvents) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, GetParam());
    const auto options = random_options(GetParam(), random);
    const auto policy = make_checkpointing(GetParam(), options);
    auto fresh = make_checkpointing(GetParam(), options);
    std::vector<LogLine> log;
    std::vector<std::string> events;
    Seconds now;
    for (int i = 0; i < 200; ++i) {
      now += Seconds(random.uniform());
      const Event event = random_event(random, now);
      ASSERT_EQ(parse_event(to_text(event)), event);
      const Decisions decisions = decide(*policy, event);
      ASSERT_EQ(parse_decisions(to_text(decisions)), decisions);
      log.push_back({to_text(event), to_text(decisions)});
      events.push_back(to_text(event));
    }
    ASSERT_EQ(replay(*fresh, events), log);
    ASSERT_EQ(serialised(*fresh), serialised(*policy));
  }
}

TEST_P(CheckpointingPolicies, RefuseStatesOfAnotherShape) {
  const auto policy = make_checkpointing(GetParam(), {});
  decide(*policy, Ready{Seconds(), 0, 1});
  decide(*policy, Committed{Seconds(5.0), 3, Seconds(2.0)});
  const std::string state = serialised(*policy);
  const auto refuses = [&](const std::string& damaged) {
    EXPECT_THROW(restore(*make_checkpointing(GetParam(), {}), damaged), ConfigError) << damaged;
  };
  refuses("");
  refuses(state + " stranger=1");
  refuses(state + " " + state);
  refuses(state + "x");
  for (const char* counter : {"failures", "commits", "failed", "failed_in_a_row"}) {
    const std::string name = " " + std::string(counter) + "=";
    const auto at = state.find(name);
    ASSERT_NE(at, std::string::npos) << counter << " in " << state;
    refuses(state.substr(0, at + name.size()) + "-1" + state.substr(at + name.size()));
  }
  const auto at = state.find("incarnations=1");
  ASSERT_NE(at, std::string::npos);
  refuses(state.substr(0, at) + "incarnations=1,2" + state.substr(at + 14));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CheckpointingPolicies, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

TEST(CheckpointingTexts, AreReadable) {
  EXPECT_EQ(to_text(Event(Started{Seconds(0.5), 12})), "started round=12 now=0.5");
  EXPECT_EQ(to_text(Event(RoundDone{Seconds(3.5), 7, 4, Seconds(0.25)})),
            "round_done round=7 workers=4 duration=0.25 now=3.5");
  EXPECT_EQ(to_text(Event(Warned{Seconds(3.0), 2, Seconds(30.0)})), "warned slot=2 notice=30 now=3");
  EXPECT_EQ(to_text(Event(Departed{Seconds(3.0), 2, 1, Departure::revoked})),
            "departed slot=2 incarnation=1 how=revoked now=3");
  EXPECT_EQ(to_text(Event(Ready{Seconds(3.0), 2, 1})), "ready slot=2 incarnation=1 now=3");
  EXPECT_EQ(to_text(Event(Ready{Seconds(3.0), 2, 1, Seconds(40.0)})),
            "ready slot=2 incarnation=1 age=40 now=3");
  EXPECT_EQ(to_text(Event(Committed{Seconds(3.0), 7, Seconds(2.0)})), "committed round=7 duration=2 now=3");
  EXPECT_EQ(to_text(Event(Committed{Seconds(3.0), 7, Seconds(2.0), Seconds(2.5)})),
            "committed round=7 duration=2 took=2.5 now=3");
  EXPECT_EQ(to_text(Event(CommitFailed{Seconds(3.0)})), "commit_failed now=3");
  EXPECT_EQ(to_text(Decisions{CommitNow{}, NextCommitInRounds{3}, NextCommitInSeconds{Seconds(261.5)}}),
            "commit_now; next_commit_in rounds=3; next_commit_in seconds=261.5");
  EXPECT_EQ(to_text(Decisions{}), "");
  EXPECT_EQ(parse_decisions(""), Decisions());
}

TEST(CheckpointingTexts, OthersAreRefused) {
  for (const char* text :
       {"", "round_done", "left worker=1 now=3", "committed round=7 duration=2", "started round=x now=1",
        "started round=1 now=1 slot=2", "started round=1 round=1 now=1", "started round 1 now=1",
        "departed slot=2 incarnation=1 how=gone now=3", "commit_failed now=3s"}) {
    try {
      parse_event(text);
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.what(), "not a recorded checkpointing event: '" + std::string(text) + "'");
    }
  }
  for (const char* text : {"commit", "commit_now 1", "next_commit_in", "next_commit_in rounds=1.5",
                           "next_commit_in rounds=1 seconds=2", "commit_now; ; commit_now"})
    EXPECT_THROW(parse_decisions(text), ConfigError) << text;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::checkpointing

// When commits are due: what the driver makes of the decisions of a policy that follows a script, and of real
// policies.
#include "workloads/checkpoint/commit_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/checkpointing/interval.hpp"
#include "policies/checkpointing/replay.hpp"

namespace tandem {
namespace TANDEM_FILE {

using checkpointing::Decisions;
using checkpointing::NextCommitInRounds;
using checkpointing::NextCommitInSeconds;

/// Decides on the nth event of a kind what its script says.
class Scripted : public checkpointing::Policy {
 public:
  std::vector<Decisions> started, round_done, warned, committed, failed;

  void on_started(const checkpointing::Started&, Decisions& decisions) override { next(started, decisions); }
  void on_round_done(const checkpointing::RoundDone&, Decisions& decisions) override {
    next(round_done, decisions);
  }
  void on_warned(const checkpointing::Warned&, Decisions& decisions) override { next(warned, decisions); }
  void on_departed(const checkpointing::Departed&, Decisions&) override {}
  void on_ready(const checkpointing::Ready&, Decisions&) override { ++ready; }
  void on_committed(const checkpointing::Committed&, Decisions& decisions) override {
    next(committed, decisions);
  }
  void on_commit_failed(const checkpointing::CommitFailed&, Decisions& decisions) override {
    next(failed, decisions);
  }
  void serialise(PolicyState&) override {}

  int ready = 0;

 private:
  static void next(std::vector<Decisions>& script, Decisions& decisions) {
    if (script.empty()) return;
    decisions = script.front();
    script.erase(script.begin());
  }
};

/// That are there from the beginning.
CommitSchedule::Events machines(int count) {
  CommitSchedule::Events ready;
  for (int slot = 0; slot < count; ++slot) ready.emplace_back(checkpointing::Ready{Seconds(), slot, 1});
  return ready;
}

class Schedules : public ::testing::Test {
 protected:
  CommitSchedule& make(CommitSchedule::Setting setting = {}) {
    auto owned = std::make_unique<Scripted>(std::move(script_));
    policy_ = owned.get();
    schedule_.emplace(
        std::move(owned), setting,
        [this](const std::string& event, const std::string& decided) { log_.emplace_back(event, decided); });
    return *schedule_;
  }
  /// The rounds up to `last` after which commits are due, where each round takes a second and each commit is
  /// complete before the next round ends.
  std::vector<std::int64_t> rounds_until(std::int64_t last) {
    std::vector<std::int64_t> rounds;
    for (std::int64_t round = 1; round <= last; ++round) {
      if (!rounds.empty() && rounds.back() == round - 1 && schedule_->is_under_way())
        schedule_->committed(Seconds(static_cast<double>(round)), Seconds(0.5));
      schedule_->round_done(Seconds(static_cast<double>(round)), round, 4, Seconds(1));
      if (schedule_->is_due(round)) rounds.push_back(round);
    }
    return rounds;
  }

  Scripted script_;
  Scripted* policy_ = nullptr;
  std::optional<CommitSchedule> schedule_;
  std::vector<std::pair<std::string, std::string>> log_;
};

using Rounds = std::vector<std::int64_t>;

TEST_F(Schedules, CountRounds) {
  script_.started = {{NextCommitInRounds{3}}};
  script_.committed = {{NextCommitInRounds{1}}, {NextCommitInRounds{4}}, {}};
  make().begin(Seconds(0), 0, machines(5));
  EXPECT_EQ(policy_->ready, 5);
  EXPECT_EQ(rounds_until(20), (Rounds{3, 4, 8}));
}

TEST_F(Schedules, BeginWhereTheJobIsResumed) {
  script_.started = {{NextCommitInRounds{3}}};
  CommitSchedule& schedule = make();
  schedule.begin(Seconds(0), 100, machines(1));
  for (const std::int64_t round : {101, 102}) {
    schedule.round_done(Seconds(1), round, 4, Seconds(1));
    EXPECT_FALSE(schedule.is_due(round));
  }
  schedule.round_done(Seconds(1), 103, 4, Seconds(1));
  EXPECT_TRUE(schedule.is_due(103));
}

TEST_F(Schedules, CountSecondsOfWorkSinceTheDecision) {
  script_.started = {{NextCommitInSeconds{Seconds(2.5)}}};
  script_.committed = {{NextCommitInSeconds{Seconds(3)}}, {NextCommitInSeconds{Seconds(0)}}, {}};
  make().begin(Seconds(0), 0, machines(1));
  EXPECT_EQ(rounds_until(20), (Rounds{3, 6, 7}));
}

/// Ten times 0.1 is less than 1.
TEST_F(Schedules, RoundedSumsOfDurationsCount) {
  script_.started = {{NextCommitInSeconds{Seconds(1)}}};
  CommitSchedule& schedule = make();
  schedule.begin(Seconds(0), 0, machines(1));
  double sum = 0.0;
  for (std::int64_t round = 1; round <= 10; ++round) {
    EXPECT_FALSE(schedule.is_due(round - 1));
    sum += 0.1;
    schedule.round_done(Seconds(sum), round, 4, Seconds(0.1));
  }
  EXPECT_LT(sum, 1.0);
  EXPECT_TRUE(schedule.is_due(10));
}

TEST_F(Schedules, ALaterPlanReplacesAnEarlierOne) {
  script_.started = {{NextCommitInRounds{2}}};
  script_.round_done = {{NextCommitInSeconds{Seconds(3)}}};
  make().begin(Seconds(0), 0, machines(1));
  // Decided when round 1 ends.
  EXPECT_EQ(rounds_until(10), (Rounds{4}));
}

TEST_F(Schedules, CommitNowIsDueWhenTheRoundEndsAndRemovesThePlan) {
  script_.started = {{NextCommitInRounds{4}}};
  script_.round_done = {{}, {checkpointing::CommitNow{}}};
  make().begin(Seconds(0), 0, machines(1));
  EXPECT_EQ(rounds_until(10), (Rounds{2}));
}

TEST_F(Schedules, OneCommitIsUnderWayAtATime) {
  script_.started = {{NextCommitInRounds{2}}};
  script_.round_done = {{}, {}, {checkpointing::CommitNow{}}};
  script_.committed = {{NextCommitInRounds{2}}};
  CommitSchedule& schedule = make();
  schedule.begin(Seconds(0), 0, machines(1));
  const auto is_due = [&](std::int64_t round) {
    schedule.round_done(Seconds(static_cast<double>(round)), round, 4, Seconds(1));
    return schedule.is_due(round);
  };
  EXPECT_FALSE(is_due(1));
  EXPECT_TRUE(is_due(2));
  EXPECT_FALSE(is_due(3)) << "that of round 2 is under way";
  EXPECT_TRUE(schedule.is_under_way());
  EXPECT_FALSE(is_due(4));
  schedule.committed(Seconds(4), Seconds(0.5));
  EXPECT_FALSE(schedule.is_under_way());
  EXPECT_TRUE(is_due(5)) << "as requested in round 3";
}

TEST_F(Schedules, APlanInRoundsCountsFromTheDecisionOrFromTheCommit) {
  for (const bool from_commit : {false, true}) {
    script_ = {};
    script_.started = {{NextCommitInRounds{2}}};
    script_.committed = {{NextCommitInRounds{4}}};
    CommitSchedule& schedule = make({.counts_from_commit = from_commit});
    schedule.begin(Seconds(0), 0, machines(1));
    for (std::int64_t round = 1; round <= 4; ++round) schedule.round_done(Seconds(1), round, 4, Seconds(1));
    schedule.committed(Seconds(4), Seconds(0.5));
    const std::int64_t expected = from_commit ? 6 : 8;
    for (std::int64_t round = 5; round <= expected; ++round) {
      schedule.round_done(Seconds(5), round, 4, Seconds(1));
      EXPECT_EQ(schedule.is_due(round), round == expected) << round << ' ' << from_commit;
    }
  }
}

TEST_F(Schedules, AFailedCommitIsTriedAgain) {
  script_.started = {{NextCommitInRounds{1}}};
  script_.failed = {{NextCommitInRounds{2}}};
  CommitSchedule& schedule = make();
  schedule.begin(Seconds(0), 0, machines(1));
  schedule.round_done(Seconds(1), 1, 4, Seconds(1));
  EXPECT_TRUE(schedule.is_due(1));
  schedule.commit_failed(Seconds(1.5));
  schedule.round_done(Seconds(2), 2, 4, Seconds(1));
  EXPECT_FALSE(schedule.is_due(2));
  schedule.round_done(Seconds(3), 3, 4, Seconds(1));
  EXPECT_TRUE(schedule.is_due(3));
}

/// The policy may want to try again earlier than the ranks that count.
TEST_F(Schedules, WhereRanksCountAFailedCommitIsFollowedByTheNextOne) {
  script_.started = {{NextCommitInRounds{3}}};
  script_.failed = {{NextCommitInRounds{1}}};
  CommitSchedule& schedule = make({.counts_from_commit = true, .every = 3});
  schedule.begin(Seconds(0), 0, machines(1));
  for (std::int64_t round = 1; round <= 3; ++round) schedule.round_done(Seconds(1), round, 4, Seconds(1));
  EXPECT_TRUE(schedule.is_due(3));
  schedule.commit_failed(Seconds(3.5));
  for (std::int64_t round = 4; round <= 6; ++round) {
    schedule.round_done(Seconds(4), round, 4, Seconds(1));
    EXPECT_EQ(schedule.is_due(round), round == 6) << round;
  }
}

TEST_F(Schedules, AWarningReachesThePolicy) {
  script_.warned = {{}, {checkpointing::CommitNow{}}};
  CommitSchedule& schedule = make();
  schedule.begin(Seconds(0), 0, machines(2));
  schedule.warned(Seconds(0.5), 1, Seconds(30));
  schedule.round_done(Seconds(1), 1, 4, Seconds(1));
  EXPECT_FALSE(schedule.is_due(1));
  schedule.warned(Seconds(1.5), 0, Seconds(30));
  schedule.round_done(Seconds(2), 2, 4, Seconds(1));
  EXPECT_TRUE(schedule.is_due(2));
  const std::pair<std::string, std::string> expected = {"warned slot=1 notice=30 now=0.5", ""};
  EXPECT_NE(std::find(log_.begin(), log_.end(), expected), log_.end());
}

/// Rounds of a second, commits of two. Half a second after a round, a commit that others learn of a round in
/// advance begins 1.5 s later.
TEST(Warnings, AheadNeedTheTimeOfOneRoundMore) {
  for (const double notice : {2.4, 2.6, 3.4, 3.6})
    for (const bool ahead : {false, true}) {
      const auto& entry = checkpointing::catalog().find("on-warning");
      CommitSchedule schedule(
          entry.make({.options = Options::resolve(entry.name, entry.options, {{"cost_s", 2.0}})}),
          {.ahead = ahead}, {});
      schedule.begin(Seconds(0), 0, machines(1));
      schedule.round_done(Seconds(1), 1, 4, Seconds(1));
      schedule.warned(Seconds(1.5), 0, Seconds(notice));
      schedule.round_done(Seconds(2), 2, 4, Seconds(1));
      const bool fits = notice >= (ahead ? 3.5 : 2.5);
      EXPECT_EQ(schedule.decided(), fits ? (ahead ? 3 : 2) : 0) << notice << (ahead ? " ahead" : "");
    }
}

/// Until the time was measured it is that of two rounds.
TEST_F(Schedules, CommitsThatCountLaterHaveLessTime) {
  CommitSchedule& schedule = make({.counts_later = true});
  schedule.begin(Seconds(0), 0, machines(1));
  schedule.round_done(Seconds(1), 1, 4, Seconds(1));
  schedule.warned(Seconds(1.5), 0, Seconds(10));
  schedule.counted_after(Seconds(0.5));
  schedule.warned(Seconds(1.5), 0, Seconds(10));
  schedule.warned(Seconds(1.5), 0, Seconds(0.25));
  std::vector<std::string> events;
  for (const auto& [event, decisions] : log_)
    if (event.starts_with("warned")) events.push_back(event);
  EXPECT_EQ(events,
            (std::vector<std::string>{"warned slot=0 notice=8 now=1.5", "warned slot=0 notice=9.5 now=1.5",
                                      "warned slot=0 notice=0 now=1.5"}));
}

/// From the end of its round, also where that was decided a round before.
TEST_F(Schedules, TellHowLongACommitTook) {
  for (const bool ahead : {false, true}) {
    script_ = {};
    log_.clear();
    script_.started = {{NextCommitInRounds{2}}};
    CommitSchedule& schedule = make({.ahead = ahead});
    schedule.begin(Seconds(0), 0, machines(1));
    for (const std::int64_t round : {1, 2, 3, 4})
      schedule.round_done(Seconds(static_cast<double>(round)), round, 4, Seconds(1));
    schedule.committed(Seconds(4.5), Seconds(0.25));
    EXPECT_EQ(log_.back().first, "committed round=2 duration=0.25 took=2.5 now=4.5");
  }
}

TEST_F(Schedules, ARequestedCommitFollowsTheRoundInProgress) {
  for (const bool ahead : {false, true}) {
    script_ = {};
    script_.started = {{NextCommitInRounds{100}}};
    CommitSchedule& schedule = make({.ahead = ahead});
    schedule.begin(Seconds(0), 0, machines(1));
    schedule.round_done(Seconds(1), 1, 4, Seconds(1));
    schedule.request();
    EXPECT_EQ(schedule.decided(), 0);
    schedule.round_done(Seconds(2), 2, 4, Seconds(1));
    EXPECT_EQ(schedule.decided(), ahead ? 3 : 2);
    schedule.committed(Seconds(3), Seconds(0.5));
    schedule.round_done(Seconds(4), 3, 4, Seconds(1));
    EXPECT_EQ(schedule.decided(), ahead ? 3 : 2) << "once";
  }
}

/// The round before the commit decides, with the duration of the last round for the next one.
TEST_F(Schedules, AheadTheSameRoundsAreKnownARoundBefore) {
  script_.started = {{NextCommitInSeconds{Seconds(2.5)}}};
  script_.committed = {{NextCommitInSeconds{Seconds(3)}}, {NextCommitInSeconds{Seconds(5)}}, {}};
  CommitSchedule& schedule = make({.ahead = true});
  schedule.begin(Seconds(0), 0, machines(1));
  EXPECT_EQ(schedule.decided(), 0);
  schedule.round_done(Seconds(1), 1, 4, Seconds(1));
  EXPECT_EQ(schedule.decided(), 0);
  schedule.round_done(Seconds(2), 2, 4, Seconds(1));
  EXPECT_EQ(schedule.decided(), 3);
  EXPECT_FALSE(schedule.is_due(2));
  schedule.round_done(Seconds(3), 3, 4, Seconds(1));
  EXPECT_TRUE(schedule.is_due(3));
  schedule.committed(Seconds(3.5), Seconds(0.5));
  schedule.round_done(Seconds(4.5), 4, 4, Seconds(1));
  schedule.round_done(Seconds(5.5), 5, 4, Seconds(1));
  EXPECT_EQ(schedule.decided(), 6);
}

/// What nobody can learn of in time is done a round later.
TEST_F(Schedules, AheadTheFirstRoundCannotBeCommitted) {
  script_.started = {{NextCommitInRounds{1}}};
  make({.ahead = true}).begin(Seconds(0), 0, machines(1));
  EXPECT_EQ(rounds_until(10), (Rounds{2}));
}

TEST_F(Schedules, LogEveryEvent) {
  script_.started = {{NextCommitInRounds{1}}};
  make().begin(Seconds(0), 0, machines(2));
  rounds_until(2);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"ready slot=0 incarnation=1 now=0", ""},
      {"ready slot=1 incarnation=1 now=0", ""},
      {"started round=0 now=0", "next_commit_in rounds=1"},
      {"round_done round=1 workers=4 duration=1 now=1", ""},
      {"committed round=1 duration=0.5 took=1 now=2", ""},
      {"round_done round=2 workers=4 duration=1 now=2", ""}};
  EXPECT_EQ(log_, expected);
}

// ---- Policies of the catalogue ----

std::unique_ptr<checkpointing::Policy> policy(const std::string& name,
                                              const std::map<std::string, OptionValue>& options) {
  const auto& entry = checkpointing::catalog().find(name);
  return entry.make({.options = Options::resolve(name, entry.options, options)});
}

class Intervals : public ::testing::TestWithParam<std::string> {};

/// After a first commit that shows the cost, the interval that the closed form gives, to the end of the
/// round.
TEST_P(Intervals, FollowTheClosedForm) {
  const Seconds cost(10), round(7), mtbf(3600.0 / 4);
  CommitSchedule schedule(policy(GetParam(), {{"mtbf_s", 3600.0}}), {}, {});
  schedule.begin(Seconds(0), 0, machines(4));
  std::map<std::string, Seconds> intervals = {{"young", checkpointing::young_interval(cost, mtbf)},
                                              {"daly", checkpointing::daly_interval(cost, mtbf)},
                                              {"optimal", checkpointing::optimal_interval(cost, mtbf)}};
  const auto rounds = static_cast<std::int64_t>(std::ceil(intervals.at(GetParam()) / round));
  Seconds now;
  std::vector<std::int64_t> commits;
  for (std::int64_t i = 1; i <= 1 + 5 * rounds; ++i) {
    now += round;
    schedule.round_done(now, i, 4, round);
    if (!schedule.is_due(i)) continue;
    commits.push_back(i);
    now += cost;
    schedule.committed(now, cost);
  }
  Rounds expected;
  for (int commit = 0; commit <= 5; ++commit) expected.push_back(1 + commit * rounds);
  EXPECT_EQ(commits, expected);
}

INSTANTIATE_TEST_SUITE_P(All, Intervals, ::testing::Values("young", "daly", "optimal"));

TEST(RoundsBetweenCommits, AreKnownOnlyWhereThePolicyCountsRoundsAlone) {
  const auto rounds = [](const std::string& name, const std::map<std::string, OptionValue>& options) {
    const auto& entry = checkpointing::catalog().find(name);
    return checkpointing::rounds_between_commits(name, Options::resolve(name, entry.options, options));
  };
  EXPECT_EQ(rounds("fixed", {{"interval", 7.0}}), 7);
  EXPECT_EQ(rounds("fixed", {{"interval", 7.0}, {"unit", std::string("seconds")}}), std::nullopt);
  EXPECT_EQ(rounds("fixed", {{"interval", 7.0}, {"on_warning", true}}), std::nullopt);
  for (const auto& entry : checkpointing::catalog().entries()) {
    if (entry.name != "fixed") {
      EXPECT_EQ(rounds(entry.name, {}), std::nullopt) << entry.name;
    }
  }
}

/// Another worker continues: the plan counts the work since the last decision of the one before.
TEST_F(Schedules, ContinueWhereAnotherPolicyHasEnded) {
  script_.started = {{NextCommitInRounds{1}}};
  script_.committed = {{NextCommitInSeconds{Seconds(4)}}, {NextCommitInSeconds{Seconds(4)}}};
  CommitSchedule& schedule = make({.ahead = 1});
  schedule.continue_from(Seconds(20), 10, 8, machines(2),
                         {.round = 8, .blocked = Seconds(3), .work = Seconds(1.5)});
  EXPECT_EQ(log_.at(0).first, "ready slot=0 incarnation=1 now=0");
  EXPECT_EQ(log_.at(3).first, "committed round=8 duration=3 now=20");
  schedule.round_done(Seconds(21), 11, 4, Seconds(1));
  EXPECT_EQ(schedule.decided(), 0);
  EXPECT_EQ(schedule.history().work, Seconds(2.5));
  schedule.round_done(Seconds(22), 12, 4, Seconds(1));
  EXPECT_EQ(schedule.decided(), 13);
  // Before it begins, the members change.
  schedule.postpone();
  EXPECT_FALSE(schedule.is_due(13));
  schedule.round_done(Seconds(23), 13, 4, Seconds(1));
  EXPECT_EQ(schedule.decided(), 14);
  schedule.round_done(Seconds(24), 14, 4, Seconds(1));
  schedule.committed(Seconds(26), Seconds(2));
  EXPECT_EQ(schedule.history().round, 14);
  EXPECT_EQ(schedule.history().blocked, Seconds(2));
  EXPECT_EQ(schedule.history().work, Seconds(0));
}

}  // namespace TANDEM_FILE
}  // namespace tandem

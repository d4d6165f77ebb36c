// Workers that depart, and others that take their places, in closed form: negligible network, steps of a
// second.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

#include "policies/sync/policy.hpp"
#include "tests/sim/training.hpp"
#include "tests/support/membership_checks.hpp"
#include "workloads/records/occupants.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Departures : public Training {
 protected:
  Departures() {
    platform_ = TemporaryPlatform::star(5, 1e12, 1e-7);
    price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 1.0 : 0.0); };
  }

  /// Asynchronous, so that no worker waits: a thousand steps in all.
  static Experiment thousand_steps() {
    Experiment experiment = small_experiment(4);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.batch = 1;
    experiment.workload.train_samples = 1000;
    experiment.sync.algorithm = "asp";
    experiment.stop = {.epochs = 1.0};
    experiment.recovery.policy = "shrink";
    return experiment;
  }
  static void depart_at(Experiment& experiment, const std::string& events) {
    experiment.transience.lifetime = "trace";
    experiment.transience.options["events"] = events;
  }
  void set_lifetime(const std::string& host, const std::string& text) {
    set_property(host, "tandem:lifetime", text);
  }
  void set_property(const std::string& host, const std::string& name, const std::string& text) {
    const auto end = platform_.find("</host>", platform_.find("'" + host + "'"));
    platform_.insert(end, "<prop id='" + name + "' value='" + text + "'/>");
  }
  /// A worker whose last push came just before the job's last one takes one step more.
  void expect_end(double least_s, double most_s) const {
    EXPECT_GE(makespan_.count(), least_s - 0.01);
    EXPECT_LE(makespan_.count(), most_s + 0.01);
  }
  static void expect_sum(const Experiment& experiment, const Journal& journal) {
    RunInfo info;
    info.experiment = experiment;
    expect_samples_add_up(info, journal);
  }
};

TEST_F(Departures, TwoOfFourLeave) {
  Experiment experiment = thousand_steps();
  depart_at(experiment, "100.5 remove a; 200.5 remove b");
  const Journal journal = train(experiment);
  // 100 + 200 steps of those who leave, and 350 of each of the others.
  expect_end(350.0, 351.0);
  EXPECT_EQ(count_of_changes(journal, "noticed"), 2);
  EXPECT_EQ(count_of_changes(journal, "gone"), 2);
  expect_sum(experiment, journal);
}

/// A machine is warned when it joins, not before it exists, and lives as long.
TEST_F(Departures, TheWarningOfANoticeLongerThanTheLifetimeComesAtItsBeginning) {
  Experiment experiment = thousand_steps();
  experiment.recovery.policy = "replace";
  experiment.transience.lifetime = "fixed";
  experiment.transience.options = {{"times", "100.5,100;1e9;200.5;1e9"}};
  experiment.transience.start = Seconds(50);
  experiment.transience.notice = Seconds(1e6);
  const Journal journal = train(experiment);
  std::map<std::pair<int, std::int64_t>, double> joined;
  for (const auto& record : changes_with(journal, "joined"))
    joined[{record.slot, record.incarnation}] = record.time.count();
  const auto warned = changes_with(journal, "warned");
  EXPECT_GE(warned.size(), 2U);
  for (const auto& record : warned)
    EXPECT_NEAR(record.time.count(), joined.at({record.slot, record.incarnation}), 0.01);
  std::vector<double> departed;
  for (const auto& record : changes_with(journal, "departed")) departed.push_back(record.time.count());
  ASSERT_GE(departed.size(), 2U);
  EXPECT_NEAR(departed[0], 100.5, 1e-9);
  EXPECT_NEAR(departed[1], 200.5, 1e-9);
  expect_sum(experiment, journal);
}

/// The rounds take a second each, whoever takes part, and a commit the time of writing. The machine that
/// comes at 16 s joins the round in progress, which then ends at 17 s with and without the commit before.
TEST_F(Departures, CommitsContinueWhileWorkersComeAndGo) {
  Experiment experiment = thousand_steps();
  experiment.sync.algorithm = "bsp";
  experiment.stop = {.rounds = 43};
  experiment.recovery.policy = "replace";
  depart_at(experiment, "10.5 remove a; 16 add a; 20.5 remove b");
  const Seconds without = train_apart(experiment, "without");
  experiment.checkpoint.policy = "fixed";
  experiment.checkpoint.options = {{"interval", 10.0}};
  const Journal journal = train(experiment);
  Seconds blocked{};
  for (const auto& commit : journal.commits) blocked += commit.blocked;
  EXPECT_EQ(rounds_of_commits(journal), (std::vector<std::int64_t>{10, 20, 30, 40}));
  EXPECT_EQ(count_of_changes(journal, "departed"), 2);
  EXPECT_GT(blocked, Seconds(0));
  EXPECT_NEAR((makespan_ - without).count(), 0.75 * blocked.count(), 1e-6);
}

/// Of four workers, two take a step in each round, also after one of them was replaced.
TEST_F(Departures, ANewcomerDrawsForTheRoundOfTheOthers) {
  Experiment experiment = thousand_steps();
  experiment.sync.algorithm = "fedavg";
  experiment.sync.options = {{"h", std::int64_t{1}}, {"fraction", 0.5}};
  experiment.stop = {.rounds = 43};
  experiment.recovery.policy = "replace";
  depart_at(experiment, "10.5 remove a; 16 add a");
  const Journal journal = train(experiment);
  EXPECT_EQ(count_of_changes(journal, "joined"), 5);
  std::map<int, int> steps;  // of the time after that, by the version of their model
  for (const auto& step : journal.steps)
    if (step.start > Seconds(20)) ++steps[step.version];
  ASSERT_GT(steps.size(), 12U);
  steps.erase(steps.begin());
  steps.erase(std::prev(steps.end()));
  for (const auto& [version, count] : steps) EXPECT_EQ(count, 2) << version;
}

/// The first worker pushes after a second and departs; the round waits for the last one, which takes two.
TEST_F(Departures, ThePushOfALostWorkerCountsOrIsDropped) {
  price_ = [](Rank rank, const Work& work) {
    return Seconds(work.kind != Work::Kind::forward ? 0.0 : rank == 2 ? 2.0 : 1.0);
  };
  Experiment experiment = small_experiment(3);
  experiment.stop = {.rounds = 1};
  experiment.recovery.policy = "shrink";
  const auto expect = [&](LossRule rule, double departs_s, SampleCounts expected, const std::string& folder) {
    SCOPED_TRACE(folder);
    experiment.recovery.on_loss = rule;
    depart_at(experiment, std::to_string(departs_s) + " remove a");
    const auto check = [&](const Journal& journal) {
      RunInfo info;
      info.experiment = experiment;
      const SampleCounts samples = expect_samples_add_up(info, journal);
      EXPECT_EQ(samples.applied, expected.applied);
      EXPECT_EQ(samples.dropped, expected.dropped);
    };
    EXPECT_NEAR(train_apart(experiment, folder, check).count(), 2.0, 0.01);
  };
  expect(LossRule::keep, 1.5, {.dropped = 0, .applied = 96}, "kept");
  expect(LossRule::drop, 1.5, {.dropped = 32, .applied = 64}, "dropped");
  experiment.recovery.on_loss = LossRule::keep;
  depart_at(experiment, "0.5 remove a");
  train(experiment);
  EXPECT_EQ(model_in("dropped"), final_model());
  EXPECT_NE(model_in("kept"), final_model());
}

/// The steward's note to the last worker is on its way for 0.2 s. Meanwhile the server has given it up, and
/// it pushes. The job is that in which it knows when it departs, and says nothing.
TEST_F(Departures, WhatARankSaysThatWasDeclaredDeadIsDropped) {
  platform_ = TemporaryPlatform::star(5, 1e12, 0.2);
  Experiment experiment = small_experiment(4);
  experiment.stop = {.rounds = 3};
  experiment.recovery.policy = "shrink";
  experiment.transience.detect = Seconds(0.02);
  experiment.transience.lifetime = "capacity-trace";
  experiment.transience.options = {{"counts", std::string("4,3")}, {"gap", 0.95}};
  const auto check = [&](bool speaks, const Journal& journal) {
    ASSERT_EQ(count_of_changes(journal, "gone"), 1);
    EXPECT_NEAR(changes_with(journal, "noticed").front().time.count(), 0.97, 0.001);
    // It is notified after 0.2 s, and its server says after 0.4 s that nothing is open between them.
    if (speaks) {
      EXPECT_NEAR(changes_with(journal, "gone").front().time.count(), 0.95 + 0.2 + 0.4, 0.001);
    }
    EXPECT_EQ(journal.discarded_messages > 0, speaks) << journal.discarded_messages;
    RunInfo info;
    info.experiment = experiment;
    // Of its step.
    EXPECT_EQ(expect_samples_add_up(info, journal).lost, speaks ? 24 : 0);
    for (const auto& record : journal.staleness) EXPECT_NE(record.rank, 3);
  };
  train_apart(experiment, "speaks", [&](const Journal& journal) { check(true, journal); });
  depart_at(experiment, "0 add a; 0 add b; 0 add c; 0 add d; 0.95 remove d");
  experiment.transience.options.erase("counts");
  experiment.transience.options.erase("gap");
  check(false, train(experiment));
  EXPECT_EQ(model_in("speaks"), final_model());
}

TEST_F(Departures, TheServersLearningRateMovesWithTheNumberOfMembers) {
  Experiment experiment = small_experiment(4);
  experiment.stop = {.rounds = 8};
  experiment.recovery.policy = "shrink";
  depart_at(experiment, "2.5 remove a; 2.5 remove b");
  const auto train_with = [&](RateScale scale, int ramp, const std::string& folder) {
    experiment.recovery.scale_rate = scale;
    experiment.recovery.ramp = ramp;
    train_apart(experiment, folder);
  };
  train_with(RateScale::keep, 0, "kept");
  train_with(RateScale::keep, 3, "kept_by_a_ramp");
  train_with(RateScale::linear, 0, "halved");
  train_with(RateScale::linear, 3, "between");
  // So slowly that the job ends before it has moved.
  experiment.recovery.ramp = 1'000'000'000;
  train(experiment);
  const auto kept = model_in("kept"), halved = model_in("halved"), between = model_in("between");
  EXPECT_EQ(model_in("kept_by_a_ramp"), kept);
  expect_close(final_model(), kept, 1e-6F);
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
    return sum;
  };
  EXPECT_GT(distance(between, kept), 0.0);
  EXPECT_LT(distance(between, halved), distance(kept, halved));
}

TEST_F(Departures, TwoOfFourAreReplaced) {
  Experiment experiment = thousand_steps();
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(50);
  depart_at(experiment, "100.5 remove a; 101 add a; 200.5 remove b; 201 add b");
  const Journal journal = train(experiment);
  // Each of the two misses 50.5 s, and half a second had been computed in vain: 275.5 s, in whole steps.
  expect_end(275.0, 277.0);
  EXPECT_EQ(count_of_changes(journal, "joined"), 6);
  expect_sum(experiment, journal);
}

/// A process has died, and nothing was committed: all begins again 155 s after the job began, with the
/// machines of that time. The first one departed for good before, the second one is being replaced, the third
/// one departs later.
TEST_F(Departures, ALaunchInTheMiddleBeginsWithTheMachinesThatThereAre) {
  Experiment experiment = thousand_steps();
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(50);
  depart_at(experiment, "100.5 remove a; 120.5 remove b; 121 add b; 200.5 remove c");
  generation_ = launched_again(150, 155);
  const Journal journal = train(experiment);
  // 45 steps of the third worker, all seconds of the fourth one, and all but 16 of the second one.
  expect_end(155.0 + 485.0, 155.0 + 487.0);
  const auto rows = [&](const char* event) {
    std::vector<std::tuple<int, std::int64_t, double>> rows;
    for (const auto& row : changes_with(journal, event))
      rows.emplace_back(row.slot, row.incarnation, std::round(10.0 * row.time.count()) / 10.0);
    return rows;
  };
  using Rows = decltype(rows(""));
  EXPECT_EQ(rows("departed"), (Rows{{0, 1, 100.5}, {1, 1, 120.5}, {2, 1, 200.5}}));
  EXPECT_EQ(rows("joined"), (Rows{{0, 1, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {1, 2, 171.0}}));
  EXPECT_EQ(rows("gone"), (Rows{{2, 1, 200.5}}));
  for (const auto& step : journal.steps) {
    EXPECT_NE(step.rank, 0);
    EXPECT_GE(step.start, Seconds(step.rank == 1 ? 171.0 : 155.0));
  }
  expect_sum(experiment, journal);
}

/// The same where the job has not noticed yet that the first machine has departed, and a spare has taken the
/// place of the second one.
TEST_F(Departures, ALaunchInTheMiddleBeginsWithTheSparesThatWork) {
  Experiment experiment = thousand_steps();
  experiment.placement.workers.resize(3);
  experiment.placement.spares = {"host-4"};
  experiment.recovery.policy = "spares";
  experiment.transience.start = Seconds(20);
  experiment.transience.detect = Seconds(5);
  depart_at(experiment, "100.5 remove b; 149 remove a");
  generation_ = launched_again(150, 152);
  const Journal journal = train(experiment);
  std::map<Rank, int> steps;
  for (const auto& step : journal.steps) ++steps[step.rank];
  EXPECT_EQ(steps.size(), 2U);
  EXPECT_TRUE(steps.contains(2) && steps.contains(3));
  expect_end(152.0 + 500.0, 152.0 + 501.0);
  expect_sum(experiment, journal);
}

/// One of the workers departs for good; a spare waits for that from 50 s on, and is another second's half
/// late at most.
TEST_F(Departures, ASpareTakesThePlaceAndTheShardOfAWorker) {
  Experiment experiment = thousand_steps();
  experiment.placement.workers.resize(3);
  experiment.placement.spares = {"host-4"};
  experiment.recovery.policy = "spares";
  experiment.transience.start = Seconds(50);
  depart_at(experiment, "100.5 remove a");
  const Journal journal = train(experiment);
  // A thousand steps of three, and half a second of one was computed in vain.
  expect_end(333.0, 335.0);
  std::vector<std::pair<int, double>> joined;
  for (const auto& record : changes_with(journal, "joined"))
    if (record.time > Seconds(0)) joined.emplace_back(record.slot, record.time.count());
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].first, 3);
  EXPECT_NEAR(joined[0].second, 100.5, 0.01);
  std::map<Rank, std::int64_t> steps;
  for (const auto& step : journal.steps) ++steps[step.rank];
  EXPECT_EQ(steps[0], 100);
  EXPECT_NEAR(static_cast<double>(steps[3]), 233.0, 2.0);
  expect_sum(experiment, journal);
}

/// The first worker's machine departs after its last step, while the others still compute theirs.
TEST_F(Departures, ASpareTakesThePlaceOfAWorkerThatHasEnded) {
  price_ = [](Rank rank, const Work& work) {
    return Seconds(work.kind != Work::Kind::forward ? 0.0 : rank == 0 ? 1.0 : 3.0);
  };
  Experiment experiment = small_experiment(3);
  experiment.workload.batch = 4;
  experiment.sync.algorithm = "asp";
  experiment.data.split = "replicated";
  // Six pushes: four of the first worker, which ends at 4 s, and one of each of the others, which end at 6 s.
  experiment.stop = {.rounds = 2};
  experiment.placement.spares = {"host-4"};
  experiment.recovery.policy = "spares";
  depart_at(experiment, "4.5 remove a");
  const Journal journal = train(experiment);
  // The spare learns that the job ends.
  expect_end(6.0, 6.0);
  EXPECT_EQ(count_of_changes(journal, "joined"), 3 + 1);
  std::map<Rank, std::int64_t> steps;
  for (const auto& step : journal.steps) ++steps[step.rank];
  EXPECT_EQ(steps, (std::map<Rank, std::int64_t>{{0, 4}, {1, 2}, {2, 2}}));
}

/// With replace, the slot is empty until its worker's does not get a machine.
TEST_F(Departures, AReplacementComesToAnEmptySlot) {
  Experiment experiment = thousand_steps();
  experiment.placement.workers.resize(3);
  experiment.placement.spares = {"host-4"};
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(50);
  depart_at(experiment, "100.5 remove a");
  const Journal journal = train(experiment);
  // One of three misses 50 s, and half a second had been computed in vain: (1000 + 50.5) / 3.
  expect_end(350.0, 352.0);
  std::vector<std::pair<int, double>> ready;
  for (const auto& record : changes_with(journal, "ready"))
    ready.emplace_back(record.slot, record.time.count());
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_EQ(ready[0].first, 3);
  EXPECT_NEAR(ready[0].second, 150.5, 0.01);
  expect_sum(experiment, journal);
}

/// From 50 s on there are three workers, from 100 s on four, at most: the trace has no machine for the last
/// slot before.
TEST_F(Departures, AJobGrowsBeyondItsFirstWorkers) {
  Experiment experiment = thousand_steps();
  experiment.placement.workers.resize(2);
  experiment.placement.spares = {"host-3", "host-4"};
  experiment.recovery.policy = "replace";
  experiment.recovery.most = 4;
  experiment.transience.start = Seconds(20);
  depart_at(experiment, "0 add a; 0 add b; 30 add c; 80 add d");
  const Journal journal = train(experiment);
  // 2 * 50 + 3 * 50 steps, and the rest of all four, in whole steps.
  expect_end(100 + 188, 100 + 188 + 1);
  std::vector<std::pair<int, double>> joined;
  for (const auto& record : changes_with(journal, "joined"))
    if (record.time > Seconds(0)) joined.emplace_back(record.slot, std::round(record.time.count()));
  EXPECT_EQ(joined, (std::vector<std::pair<int, double>>{{2, 50}, {3, 100}}));
  expect_sum(experiment, journal);
  const auto times = times_by_workers(journal);
  ASSERT_EQ(times.size(), 3U);
  for (const auto& [workers, seconds, samples] : times) {
    EXPECT_NEAR(seconds.count(), workers == 4 ? 188.5 : 50, 1);
    EXPECT_NEAR(static_cast<double>(samples), workers * seconds.count(), workers);
  }
}

/// Departures beyond the first number of workers: as many as can be had train.
TEST_F(Departures, AJobFollowsTheCapacityThatThereIs) {
  Experiment experiment = thousand_steps();
  experiment.placement.workers.resize(2);
  experiment.placement.spares = {"host-3", "host-4"};
  experiment.recovery.policy = "replace";
  experiment.recovery.most = 4;
  experiment.transience.lifetime = "capacity-trace";
  experiment.transience.options = {{"counts", std::string("2,4,1,3")}, {"gap", 50.4}};
  const Journal journal = train(experiment);
  expect_sum(experiment, journal);
  std::map<int, double> seconds;
  for (const auto& time : times_by_workers(journal)) seconds[time.workers] = time.time.count();
  for (const int workers : {1, 2, 4}) EXPECT_NEAR(seconds[workers], 50.4, 0.01) << workers;
  // 151 steps of the first worker, 100 of the second one, and 50 of each of those that came.
  EXPECT_NEAR(seconds[3], (1000 - 151 - 100 - 2 * 50) / 3.0, 2.0);
}

/// The spare departs while it waits, and another one comes to its slot.
TEST_F(Departures, ASpareThatDepartsIsReplaced) {
  Experiment experiment = thousand_steps();
  experiment.placement.workers.resize(3);
  experiment.placement.spares = {"host-4"};
  experiment.recovery.policy = "spares";
  set_lifetime("host-4", "fixed time=30");
  depart_at(experiment, "100.5 remove a");
  const Journal journal = train(experiment);
  EXPECT_GE(count_of_changes(journal, "departed"), 10);
  // Each of the spares that worked did so for at most 30 s, and computed half a second in vain.
  expect_end(333.0, 340.0);
  expect_sum(experiment, journal);
}

/// The platform file says so, machine by machine; the others have the experiment's lifetimes.
TEST_F(Departures, HostsHaveLifetimesOfTheirOwn) {
  set_lifetime("host-1", "fixed time=1min lost=1");
  set_lifetime("host-2", "trace events=");
  set_lifetime("host-3", "never");
  Experiment experiment = thousand_steps();
  experiment.transience.lifetime = "fixed";
  experiment.transience.options["time"] = 140.5;
  const Journal journal = train(experiment);
  // 60 steps of the first and 140 of the fourth; the others take 400 each.
  expect_end(400.0, 401.0);
  ASSERT_EQ(count_of_changes(journal, "noticed"), 2);
  std::map<int, std::string> causes;
  for (const auto& record : changes_with(journal, "departed")) causes[record.slot] = record.cause;
  EXPECT_EQ(causes, (std::map<int, std::string>{{0, "lost"}, {3, "revoked"}}));
}

TEST_F(Departures, FollowTheModelOfTheGroupOfTheirHost) {
  for (int host = 1; host <= 4; ++host) set_property("host-" + std::to_string(host), "region", "eu");
  set_property("host-1", "tandem:zone", "old");
  set_property("host-2", "tandem:zone", "new");
  set_property("host-3", "tandem:zone", "new");
  set_lifetime("host-4", "never");
  Experiment experiment = thousand_steps();
  experiment.transience.lifetime = "fixed";
  Experiment refused = experiment;
  refused.transience.options["by_host"] = "region=us: never; region=asia zone=old: never";
  const auto refusal = [&] {
    try {
      train(refused);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(
      refusal(),
      "transience.options.by_host: host 'host-1': expected properties of a group (region=us | "
      "region=asia zone=old), or an empty option, for one model of all machines, found region=eu zone=old");
  refused.transience.options["by_host"] = "region=eu: fixed tim=3";
  EXPECT_NE(refusal().find("'tim'"), std::string::npos) << refusal();
  refused.recovery.mode = RecoveryMode::restart;
  refused.recovery.policy = "liveput";
  refused.transience.lifetime = "exponential";
  refused.transience.options = {{"by_host", "region=eu: never"}};
  EXPECT_NE(refusal().find("liveput knows only one lifetime"), std::string::npos) << refusal();

  experiment.transience.options["by_host"] =
      "region=us zone=old: fixed time=10; region=eu zone=old: fixed time=60.5; region=eu zone=new: never";
  const Journal journal = train(experiment);
  ASSERT_EQ(count_of_changes(journal, "noticed"), 1);
  EXPECT_EQ(changes_with(journal, "departed").front().slot, 0);
  EXPECT_EQ(changes_with(journal, "departed").front().time, Seconds(60.5));
}

/// SimGrid's own profiles mean departures and returns, here of the first two workers; nothing ends in
/// SimGrid.
TEST_F(Departures, FollowTheStateFilesOfHosts) {
  platform_ +=
      "<trace id='one' periodicity='-1'>100.5 0\n101 1\n</trace><trace_connect trace='one' kind='HOST_AVAIL' "
      "element='host-1'/><trace id='two' periodicity='-1'>200.5 0\n201 1\n</trace><trace_connect trace='two' "
      "kind='HOST_AVAIL' element='host-2'/>\n";
  Experiment experiment = thousand_steps();
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(50);
  experiment.transience.lifetime = "states";
  const Journal journal = train(experiment);
  // As in TwoOfFourAreReplaced.
  expect_end(275.0, 277.0);
  std::vector<std::pair<double, std::string>> departures;
  for (const auto& record : changes_with(journal, "departed"))
    departures.emplace_back(record.time.count(), record.cause);
  EXPECT_EQ(departures, (std::vector<std::pair<double, std::string>>{{100.5, "lost"}, {200.5, "lost"}}));
  EXPECT_EQ(count_of_changes(journal, "joined"), 6);
  expect_sum(experiment, journal);
}

TEST_F(Departures, LifetimesOfHostsThatAreNoneAreRefused) {
  for (const char* text :
       {"weibul scale=6h", "weibull shape", "weibull shape=0", "weibull size=2", "fixed time=x"}) {
    Departures::platform_ = TemporaryPlatform::star(5, 1e12, 1e-7);
    set_lifetime("host-2", text);
    Experiment experiment = thousand_steps();
    experiment.transience.lifetime = "fixed";
    try {
      train(experiment);
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("host 'host-2', property tandem:lifetime: "),
                std::string::npos)
          << error.what();
    }
  }
}

/// A policy that asks for the distribution of lifetimes would expect others.
TEST_F(Departures, LiveputRefusesLifetimesOfHosts) {
  set_lifetime("host-2", "exponential mean=60");
  Experiment experiment = thousand_steps();
  experiment.transience.lifetime = "exponential";
  experiment.recovery.mode = RecoveryMode::restart;
  experiment.recovery.policy = "liveput";
  try {
    train(experiment);
    ADD_FAILURE() << "not refused";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "recovery.policy: expected another policy, because liveput knows only transience.lifetime, "
                 "found tandem:lifetime of host 'host-2'");
  }
}

/// Machine hours are seconds of the job.
TEST_F(Departures, TimesOfMachinesAreScaled) {
  Experiment experiment = thousand_steps();
  experiment.transience.time_scale = 3600;
  depart_at(experiment, "361800 remove a; 721800 remove b");
  train(experiment);
  expect_end(350.0, 351.0);
}

/// 864.6 / 9 * 9 is less than 864.6, but the machine that is requested for that time is there.
TEST_F(Departures, RoundedTimesOfMachinesAreThoseAtWhichTheyCanBeHad) {
  Experiment experiment = thousand_steps();
  experiment.transience.time_scale = 9;
  experiment.recovery.policy = "replace";
  depart_at(experiment, "544.5 remove a; 864.6 add a");
  const Journal journal = train(experiment);
  // 60 steps of the first until it departs, and 163 from 96.07 s on; 777 of the others.
  expect_end(259.0, 260.1);
  EXPECT_EQ(count_of_changes(journal, "ready"), 1);
  for (const auto& record : changes_with(journal, "ready"))
    EXPECT_NEAR(record.time.count(), 864.6 / 9.0, 1e-3);
}

/// Machines that outlive the job change no step.
TEST_F(Departures, MachinesThatStayChangeNothing) {
  Experiment experiment = thousand_steps();
  const Seconds without = train_apart(experiment, "without");
  experiment.transience.lifetime = "fixed";
  experiment.transience.options["time"] = 1e6;
  EXPECT_NEAR(train_apart(experiment, "with").count(), without.count(), 1e-3);
}

TEST_F(Departures, TheJobGivesUpWithoutMachines) {
  Experiment experiment = thousand_steps();
  depart_at(experiment, "10.5 remove a; 10.5 remove b; 10.5 remove c; 10.5 remove d");
  EXPECT_THROW(train(experiment), WorldError);
}

/// Requests that fail would be repeated, and training would pause, for ever.
class JobsInVain : public Departures, public ::testing::WithParamInterface<std::tuple<std::string, int>> {};

TEST_P(JobsInVain, GiveUp) {
  const auto& [policy, least] = GetParam();
  Experiment experiment = thousand_steps();
  depart_at(experiment,
            "10.5 remove a; 10.5 remove b; 10.5 remove c" + std::string(least == 1 ? "; 10.5 remove d" : ""));
  experiment.sync.algorithm = "bsp";
  experiment.recovery.policy = policy;
  experiment.recovery.least = least;
  std::string message;
  try {
    train(experiment);
  } catch (const WorldError& error) {
    message = error.what();
  }
  EXPECT_EQ(message, "the job gives up: " +
                         std::string(least == 1 ? "the machines of all workers have departed"
                                                : "1 of at least 3 workers (recovery.least) are left") +
                         ", and no replacement can come up (recovery.policy " + policy + ")");
}

INSTANTIATE_TEST_SUITE_P(All, JobsInVain,
                         ::testing::Values(std::tuple("shrink", 1), std::tuple("replace", 3)));
INSTANTIATE_TEST_SUITE_P(LongAll, JobsInVain,
                         ::testing::Values(std::tuple("shrink", 3), std::tuple("replace", 1)));

/// As above, but another machine comes while requests fail.
TEST_F(Departures, RequestsThatFailAreRepeatedWhileAMachineMayCome) {
  Experiment experiment = thousand_steps();
  depart_at(experiment, "10.5 remove a; 10.5 remove b; 10.5 remove c; 10.5 remove d; 200.5 add d");
  experiment.recovery.policy = "replace";
  train(experiment);
  // 40 steps before, and 960 of one worker.
  expect_end(200.5 + 960.0, 200.5 + 961.0);
}

/// Every algorithm that works over a server, with random lifetimes, one server and three.
class RandomDepartures : public Departures, public ::testing::WithParamInterface<std::string> {
 protected:
  void expect_all_rounds(std::uint64_t seed);
};

TEST_P(RandomDepartures, EndWithAllRounds) {
  expect_all_rounds(1);
  expect_all_rounds(2);
}

using LongRandomDepartures = RandomDepartures;

TEST_P(LongRandomDepartures, OfOtherTimesEndWithAllRounds) {
  expect_all_rounds(3);
  expect_all_rounds(4);
}

void RandomDepartures::expect_all_rounds(std::uint64_t seed) {
  for (const int servers : {1, 3}) {
    SCOPED_TRACE("servers " + std::to_string(servers) + ", seed " + std::to_string(seed));
    Experiment experiment = thousand_steps();
    experiment.sync.algorithm = GetParam();
    experiment.workload.train_samples = 96;
    experiment.stop = {.rounds = 30};
    experiment.seed = seed;
    experiment.placement.servers.assign(static_cast<std::size_t>(servers), "host-0");
    experiment.recovery.policy = "replace";
    experiment.transience.lifetime = "exponential";
    // A worker whose machines live for less than a round would never push.
    const auto& entry = sync::catalog().find(GetParam());
    const int steps = entry.make.steps_per_round(Options::resolve(entry.name, entry.options, {}));
    experiment.transience.options["mean"] = 20.0 * std::max(1, steps);
    experiment.transience.start = Seconds(seed % 2 == 0 ? 0.0 : 3.0);
    experiment.transience.detect = Seconds(0.5);
    EXPECT_GT(train_apart(experiment, "random").count(), 5.0);
  }
}

/// Without those of `but`.
std::vector<std::string> algorithms_over_servers(const std::vector<std::string>& but = {}) {
  std::vector<std::string> names;
  for (const auto& entry : sync::catalog().entries())
    if (std::ranges::count(entry.make.routes, sync::Route::server) > 0 && entry.make.most_workers == 0)
      names.push_back(entry.name);
  for (const std::string& one : but) std::erase(names, one);
  return names;
}

const std::vector<std::string> of_each_kind = {"bsp", "k-sync", "lb-bsp",      "local-sgd",
                                               "asp", "ssp",    "easgd-async", "esync"};

std::string name_of_test(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Algorithms, RandomDepartures, ::testing::ValuesIn(of_each_kind), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, RandomDepartures,
                         ::testing::ValuesIn(algorithms_over_servers(of_each_kind)), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, LongRandomDepartures, ::testing::ValuesIn(algorithms_over_servers()),
                         name_of_test);

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

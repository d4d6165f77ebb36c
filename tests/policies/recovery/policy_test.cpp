// Recovery policies against closed forms and by hand: live workers over time, waits of requests, names.
#include "policies/provisioning/policy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "policies/provisioning/tiers.hpp"
#include "policies/recovery/request_waits.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/policies/recovery/job_run.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::recovery {
namespace TANDEM_FILE {

using testing::make_recovery;

/// Asynchronous training: each member makes a step per second. Machines depart at given times, later ones
/// live for ever, and a request takes `start_s`. The time of the last of `steps`. `first`: members as the job
/// begins; 0: all workers.
double makespan(const std::string& name, const Setting& setting, const std::map<double, int>& departures,
                double start_s, double steps, int first = 0) {
  if (first == 0) first = setting.workers;
  const auto policy = make_recovery(name, setting);
  std::map<int, int> incarnations;
  std::multimap<double, Event> events;
  events.emplace(0.0, Started{Seconds(), first});
  for (const auto& [time, slot] : departures)
    events.emplace(time, Departed{Seconds(time), slot, 1, How::lost});
  double now = 0.0;
  int members = first;
  while (!events.empty()) {
    const auto [time, event] = *events.begin();
    events.erase(events.begin());
    const double done = members * (time - now);
    if (done >= steps) break;
    steps -= done;
    now = time;
    if (std::holds_alternative<Departed>(event)) --members;
    for (const auto& decision : decide(*policy, event)) {
      if (std::holds_alternative<Admit>(decision)) ++members;
      if (const auto* request = std::get_if<Request>(&decision)) {
        const int incarnation = request->slot < first ? 2 : 1;
        const double ready = now + start_s;
        events.emplace(ready, Ready{Seconds(ready), request->slot, incarnation});
      }
    }
  }
  return now + steps / members;
}

TEST(Makespan, OfAsynchronousJobsIsTheClosedForm) {
  const std::map<double, int> departures = {{100.0, 1}, {200.0, 3}};
  const Setting plain{.workers = 4, .slots = 4}, spare{.workers = 4, .slots = 5};
  EXPECT_DOUBLE_EQ(makespan("shrink", plain, departures, 50.0, 1000.0), 350.0);
  EXPECT_DOUBLE_EQ(makespan("replace", plain, departures, 50.0, 1000.0), 275.0);
  EXPECT_DOUBLE_EQ(makespan("spares", spare, departures, 50.0, 1000.0), 250.0);
  EXPECT_DOUBLE_EQ(makespan("spares", plain, departures, 50.0, 1000.0), 275.0);
  EXPECT_DOUBLE_EQ(makespan("spares", spare, departures, 100.0, 1000.0), 250.0);
  EXPECT_DOUBLE_EQ(makespan("spares", spare, departures, 150.0, 1000.0), 275.0);
  // Two workers for 50 s, then four; with spares a fifth machine waits.
  EXPECT_DOUBLE_EQ(makespan("replace", plain, {}, 50.0, 1000.0, 2), 50.0 + 900.0 / 4);
  EXPECT_DOUBLE_EQ(makespan("spares", spare, {}, 50.0, 1000.0, 2), 50.0 + 900.0 / 4);
  EXPECT_DOUBLE_EQ(makespan("shrink", plain, {}, 50.0, 1000.0, 2), 500.0);
}

/// With the same departures, machines that come sooner never make training longer, and nor do longer lives.
TEST(Makespan, NeverGrowsWithSoonerMachinesOrLongerLives) {
  for (const auto seed : testing::seeds(200)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "departures");
    std::map<double, int> departures, later;
    for (int slot = 0; slot < 4; ++slot) {
      const double time = 400.0 * random.uniform();
      departures.emplace(time, slot);
      later.emplace(1.3 * time, slot);
    }
    for (const std::string name : {"replace", "spares"}) {
      const Setting setting{.workers = 4, .slots = name == "spares" ? 5 : 4};
      double before = makespan(name, setting, departures, 0.0, 1000.0);
      for (const double start_s : {1.0, 10.0, 50.0, 200.0}) {
        const double now = makespan(name, setting, departures, start_s, 1000.0);
        EXPECT_GE(now, before - 1e-9) << name << ", start " << start_s;
        EXPECT_LE(makespan(name, setting, later, start_s, 1000.0), now + 1e-9) << name << ", " << start_s;
        before = now;
      }
    }
  }
}

TEST(RequestWaits, DoubleUpToTheLongest) {
  const Setting setting{.workers = 1, .slots = 2};
  RequestWaits waits(setting, {.retry = Seconds(3.0), .longest = Seconds(20.0)});
  EXPECT_EQ(waits.earliest(0), Seconds());
  for (const double wait : {3.0, 6.0, 12.0, 20.0, 20.0}) {
    waits.failed(0, Seconds(100.0));
    EXPECT_EQ(waits.earliest(0), Seconds(100.0 + wait));
  }
  EXPECT_EQ(waits.earliest(1), Seconds()) << "of another slot";
  waits.obtained(0);
  waits.failed(0, Seconds(200.0));
  EXPECT_EQ(waits.earliest(0), Seconds(203.0));
  for (int i = 0; i < 2000; ++i) waits.failed(0, Seconds(300.0));
  EXPECT_EQ(waits.earliest(0), Seconds(320.0));
}

TEST(RequestWaits, CoolDownByZone) {
  const Setting setting{.workers = 4, .slots = 4, .zones = {9, 2, 9, 2}};
  RequestWaits waits(setting, {.deaths = 2, .within = Seconds(100.0), .cooldown = Seconds(50.0)});
  waits.died(0, Seconds(10.0));
  waits.died(1, Seconds(20.0));
  waits.died(0, Seconds(110.5));
  EXPECT_EQ(waits.earliest(0), Seconds()) << "more than 100 s apart";
  waits.died(2, Seconds(210.5));
  EXPECT_EQ(waits.earliest(0), Seconds(260.5)) << "two machines of a zone, exactly 100 s apart";
  EXPECT_EQ(waits.earliest(2), Seconds(260.5));
  EXPECT_EQ(waits.earliest(1), Seconds());
  // Machines that die while the zone cools down count anew; the wait doubles.
  waits.died(0, Seconds(220.0));
  EXPECT_EQ(waits.earliest(0), Seconds(260.5));
  waits.died(0, Seconds(230.0));
  EXPECT_EQ(waits.earliest(0), Seconds(330.0));
  waits.died(0, Seconds(430.0));
  waits.died(0, Seconds(430.0));
  EXPECT_EQ(waits.earliest(0), Seconds(630.0)) << "exactly 100 s after the last cool-down";
  waits.died(0, Seconds(731.0));
  waits.died(0, Seconds(731.0));
  EXPECT_EQ(waits.earliest(0), Seconds(781.0)) << "after a calm";
}

/// An hour of machines is a second of the job.
TEST(RequestWaits, AreTimesOfMachines) {
  RequestWaits waits({.workers = 1, .slots = 1, .time_scale = 3600.0}, {.retry = Seconds(1800.0),
                                                                        .deaths = 2,
                                                                        .within = Seconds(3600.0),
                                                                        .cooldown = Seconds(7200.0),
                                                                        .longest = Seconds(9000.0)});
  waits.failed(0, Seconds(10.0));
  EXPECT_EQ(waits.earliest(0), Seconds(10.5));
  waits.failed(0, Seconds(10.5));
  EXPECT_EQ(waits.earliest(0), Seconds(11.5));
  waits.obtained(0);
  waits.died(0, Seconds(20.0));
  waits.died(0, Seconds(21.5));
  EXPECT_EQ(waits.earliest(0), Seconds()) << "more than an hour of machines apart";
  waits.died(0, Seconds(22.0));
  EXPECT_EQ(waits.earliest(0), Seconds(24.0));
  waits.died(0, Seconds(22.5));
  waits.died(0, Seconds(22.5));
  EXPECT_EQ(waits.earliest(0), Seconds(25.0)) << "at most 2.5 hours of machines";
}

TEST(RequestWaits, WithoutZonesAllMachinesCountTogether) {
  const Setting setting{.workers = 2, .slots = 2};
  RequestWaits together(setting, {.deaths = 2}), apart(setting, {.deaths = 2, .by_slot = true});
  for (auto* waits : {&together, &apart})
    for (const std::size_t slot : {0U, 1U}) waits->died(slot, Seconds(10.0));
  EXPECT_EQ(together.earliest(0), Seconds(70.0));
  EXPECT_EQ(apart.earliest(0), Seconds());
}

TEST(RecoveryCatalogue, NamesThePoliciesAndTheNearestName) {
  EXPECT_EQ(catalog().names(),
            (std::vector<std::string>{"shrink", "replace", "spares", "restart", "liveput"}));
  try {
    catalog().find("spare");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("unknown recovery policy 'spare'; did you mean 'spares'?"),
              std::string::npos)
        << error.what();
  }
}

TEST(Tiers, TheFirstRankInTheWrongOne) {
  using provisioning::find_misplaced_role;
  using provisioning::HostOfRoles;
  const HostOfRoles stable{.name = "s", .stable_role = "server"},
      spot{.name = "w", .may_depart = true, .has_worker = true};
  EXPECT_FALSE(find_misplaced_role({stable, spot}));
  const auto server = find_misplaced_role({spot, {.name = "x", .may_depart = true, .stable_role = "server"}});
  ASSERT_TRUE(server);
  EXPECT_EQ(server->host + server->role, "xserver");
  EXPECT_TRUE(server->should_stay);
  const auto worker = find_misplaced_role({{.name = "y", .has_worker = true}, spot, stable});
  ASSERT_TRUE(worker);
  EXPECT_EQ(worker->host + worker->role, "yworker");
  EXPECT_FALSE(worker->should_stay);
}

TEST(Tiers, BackupsOfTheSecondStage) {
  const auto of = [](const std::string& text) {
    return provisioning::backups_of("tiers", {{"backups", text}});
  };
  using Hosts = std::vector<std::string>;
  EXPECT_EQ(of("s"), Hosts{"s"});
  EXPECT_EQ(of("s, t"), (Hosts{"s", "t"}));
  EXPECT_EQ(of(""), Hosts());
  EXPECT_EQ(provisioning::backups_of("tiers", {}), Hosts());
  EXPECT_EQ(provisioning::backups_of("same", {{"backups", std::string("s")}}), Hosts());
}

/// Two zones with two machines each. Of a zone's, both live with E[a^2], and none with 1 - 2 E[a] + E[a^2]: a
/// is what a machine's chance is after the zone's bursts, whose number has a Poisson distribution.
TEST(Diversify, CostsTheProbabilityThatTooFewMachinesLive) {
  const auto& entry = provisioning::catalog().find("diversify");
  const auto policy =
      entry.make({.zones = {0, 0, 1, 1},
                  .options = Options::resolve(
                      entry.name, entry.options,
                      {{"alive", std::int64_t{2}}, {"dies", 0.2}, {"bursts", 0.5}, {"taken", 0.6}})});
  for (std::size_t slot = 0; slot < 3; ++slot) policy->arrived(slot, Seconds());
  const double one = 0.8 * std::exp(-0.5 * 0.6), both = 0.64 * std::exp(-0.5 * (1.0 - 0.16));
  const double none = 1.0 - 2.0 * one + both, single = 2.0 * (one - both);
  EXPECT_NEAR(policy->cost(3, Seconds()), none * none + 2.0 * none * single, 1e-12);
}

/// Hour by hour, by hours in which a spot machine can be had (1): S in a spot machine, O in one that stays,
/// or none. Machines are handed back after each hour, which jobs do not.
std::string hours_of_deadline(const std::string& spot, double work, double deadline) {
  const auto& entry = provisioning::catalog().find("deadline");
  const auto policy =
      entry.make({.zones = {0, 0},
                  .options = Options::resolve(entry.name, entry.options,
                                              {{"work_s", work}, {"deadline_s", deadline}, {"start_s", 0.0}}),
                  .machines = {SlotMachine{}, SlotMachine{.stays = true}}});
  std::string hours;
  int done = 0;
  for (std::size_t hour = 0; hour < spot.size() && done < work; ++hour) {
    const Seconds now(static_cast<double>(hour)), next(now.count() + 1.0);
    const bool stays_first = policy->cost(1, now) < policy->cost(0, now);
    // As the job begins, it is on the line, not behind.
    const bool may_stay = hour > 0 && policy->earliest(1, now) <= now;
    const bool is_spot = spot[hour] == '1' && !stays_first;
    hours += is_spot ? 'S' : may_stay ? 'O' : '.';
    if (hours.back() == '.') continue;
    const std::size_t slot = is_spot ? 0 : 1;
    policy->arrived(slot, now);
    policy->departed(slot, DepartureKind::left, next);
    ++done;
  }
  return hours;
}

TEST(Deadline, IsBehindTheLineInTheseHours) {
  EXPECT_EQ(hours_of_deadline("11001111", 6, 8), "SS.OSSS");
  EXPECT_EQ(hours_of_deadline("00001111", 6, 8), ".OOOSSS");
  EXPECT_EQ(hours_of_deadline("1010101010", 7, 10), "S.SOS.S.SO");
  EXPECT_EQ(hours_of_deadline("0100001111", 7, 10), ".SOO.OSSS");
  // Six hours are left for seven of work: machines that stay, although spot machines can be had.
  EXPECT_EQ(hours_of_deadline("00001111", 7, 6), ".OOOOOOO");
}

TEST(PoliciesDeath, EventsThatNoJobSends) {
  const Setting setting{.workers = 2, .slots = 3};
  const auto policy = make_recovery("replace", setting);
  EXPECT_DEATH(decide(*policy, Tick{Seconds()}), "before the start");
  decide(*policy, Started{Seconds(), 2});
  EXPECT_DEATH(decide(*policy, Started{Seconds(), 2}), "second start");
  EXPECT_DEATH(decide(*policy, Ready{Seconds(), 3, 1}), "slot 3 of 3");
  EXPECT_DEATH(make_recovery("replace", {.workers = 2, .slots = 1}), "workers 2 slots 1");
  EXPECT_DEATH(make_recovery("replace", {.workers = 2, .slots = 2, .least = 3}), "least 3 workers 2");
  EXPECT_DEATH(to_text(Decisions{GiveUp{"x"}, Pause{}}), "after GiveUp");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::recovery

// The fates of the machines of a job: the same for the same seed, whatever the job does, and the closed forms
// of models in which machines depart together.
#include "policies/lifetimes/fates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policies/lifetimes/fates_by_machine.hpp"
#include "policies/lifetimes/fates_by_slot.hpp"
#include "tests/policies/lifetimes/made.hpp"
#include "tests/support/names.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::lifetimes {
namespace TANDEM_FILE {

/// All departures until a time, of slots that are filled again after `wait` seconds.
std::vector<Departure> departures(Fates& fates, std::size_t slots, double wait, double until) {
  std::vector<Departure> all;
  std::vector<std::int64_t> incarnations(slots, 0);
  std::vector<double> wanted(slots, 0.0);
  std::vector<bool> present(slots, false);
  while (true) {
    // The next event: somebody arrives, or somebody departs.
    double arrival = infinity;
    std::size_t arriving = 0;
    const auto departure = fates.next();
    for (std::size_t slot = 0; slot < slots; ++slot) {
      if (present[slot]) continue;
      const double time = fates.obtainable(slot, wanted[slot]);
      if (time < arrival) arrival = time, arriving = slot;
    }
    if (std::min(arrival, departure ? departure->time : infinity) > until) return all;
    if (departure && departure->time <= arrival) {
      all.push_back(*departure);
      const auto slot = departure->occupant.slot;
      fates.depart(slot, departure->time);
      present[slot] = false;
      for (double& time : wanted) time = std::max(time, departure->time);
      wanted[slot] = departure->time + wait;
    } else {
      fates.arrive({arriving, ++incarnations[arriving]}, arrival);
      present[arriving] = true;
    }
  }
}

std::vector<Departure> departures(const std::string& model, const Given& options, std::uint64_t seed,
                                  const std::vector<std::size_t>& groups, double wait, double until) {
  const auto fates = make_fates(model, options, seed, groups);
  return departures(*fates, groups.size(), wait, until);
}

class AllFates : public ::testing::TestWithParam<std::string> {};

TEST_P(AllFates, AreTheSameForTheSameSeedAndInTheOrderOfTime) {
  for (const auto seed : testing::seeds(5)) {
    TANDEM_TRACE_SEED(seed);
    const auto first = departures(GetParam(), {}, seed, {0, 0, 1}, 60.0, 3e6);
    EXPECT_EQ(first, departures(GetParam(), {}, seed, {0, 0, 1}, 60.0, 3e6));
    EXPECT_TRUE(std::ranges::is_sorted(first, {}, &Departure::time));
  }
}

std::vector<std::string> model_names() { return catalog().names(); }
INSTANTIATE_TEST_SUITE_P(All, AllFates, ::testing::ValuesIn(model_names()), testing::catalog_name);

TEST(Fates, OfSlotsWithDifferentModelsAreThoseOfEachModel) {
  const std::vector<std::size_t> groups = {0, 0, 1, 1};
  std::vector<std::unique_ptr<Fates>> models;
  for (const char* model : {"weibull", "never", "markov"}) models.push_back(make_fates(model, {}, 3, groups));
  FatesBySlot mixed(std::move(models), {0, 1, 2, 0});
  std::vector<Departure> expected = departures("weibull", {}, 3, groups, 60.0, 1e6);
  std::erase_if(expected,
                [](const Departure& one) { return one.occupant.slot == 1 || one.occupant.slot == 2; });
  std::vector<Departure> of_markov = departures("markov", {}, 3, groups, 60.0, 1e6);
  std::erase_if(of_markov, [](const Departure& one) { return one.occupant.slot != 2; });
  ASSERT_FALSE(expected.empty());
  ASSERT_FALSE(of_markov.empty());
  expected.insert(expected.end(), of_markov.begin(), of_markov.end());
  std::ranges::sort(expected, {}, &Departure::time);
  EXPECT_EQ(departures(mixed, groups.size(), 60.0, 1e6), expected);
}

/// Two machines of two slots that live 100 and 30 s, and then 200 and 70 s.
TEST(Fates, OfSlotsOnOneMachineAreItsOwn) {
  FatesByMachine fates(make_fates("fixed", {{"times", std::string("100,200;30,70")}}, 1, {0, 0}),
                       {0, 0, 1, 1});
  EXPECT_EQ(departures(fates, 4, 50.0, 151.0), (std::vector<Departure>{{30.0, {2, 1}},
                                                                       {30.0, {3, 1}},
                                                                       {100.0, {0, 1}},
                                                                       {100.0, {1, 1}},
                                                                       {150.0, {2, 2}},
                                                                       {150.0, {3, 2}}}));
  // One that has left for another reason comes back to the machine; one that comes back at once, after its
  // machine has departed, comes with the next machine, before the others have left the first one.
  FatesByMachine one(make_fates("fixed", {{"times", std::string("100,200")}}, 1, {0}), {0, 0});
  one.arrive({0, 1}, 0.0);
  one.arrive({1, 1}, 0.0);
  one.depart(0, 40.0);
  EXPECT_EQ(one.obtainable(0, 40.0), 40.0);
  one.arrive({0, 2}, 40.0);
  EXPECT_EQ(one.known(0), (Departure{100.0, {0, 2}}));
  one.depart(0, 100.0);
  one.arrive({0, 3}, 100.0);
  EXPECT_EQ(one.next(), (Departure{100.0, {1, 1}}));
  one.depart(1, 100.0);
  one.arrive({1, 2}, 120.0);
  EXPECT_EQ(one.known(1), (Departure{300.0, {1, 2}}));
  // The last one of a machine gives it back.
  one.depart(0, 150.0);
  one.depart(1, 150.0);
  EXPECT_FALSE(one.next());
}

TEST(Fates, AnOccupantsLifetimeDoesNotDependOnTheOthers) {
  for (const std::string model : {"exponential", "weibull", "early-death", "bathtub"}) {
    const auto alone = make_fates(model, {}, 7, {0, 0, 0});
    alone->arrive({2, 5}, 100.0);
    const auto together = make_fates(model, {}, 7, {0, 0, 0});
    together->arrive({0, 1}, 0.0);
    together->arrive({1, 1}, 0.0);
    together->arrive({2, 5}, 100.0);
    together->depart(0, 110.0);
    together->depart(1, 110.0);
    EXPECT_EQ(alone->next(), together->next()) << model;
  }
}

TEST(Fates, NeverDepartsBeforeTheLimit) {
  EXPECT_TRUE(departures("never", {}, 1, {0, 0}, 10.0, 1e9).empty());
  const auto limited = departures("never", {{"limit", 100.0}}, 1, {0}, 50.0, 300.0);
  ASSERT_EQ(limited.size(), 2U);
  EXPECT_EQ(limited[0], (Departure{100.0, {0, 1}, How::revoked}));
  EXPECT_EQ(limited[1], (Departure{250.0, {0, 2}, How::revoked}));
}

TEST(Fates, FixedLifetimesAreThoseOfSlotAndIncarnation) {
  const auto all = departures("fixed", {{"times", std::string("100,30;200")}}, 1, {0, 0, 0}, 50.0, 1e6);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], (Departure{100.0, {0, 1}, How::revoked}));
  EXPECT_EQ(all[1], (Departure{180.0, {0, 2}, How::revoked}));
  EXPECT_EQ(all[2], (Departure{200.0, {1, 1}, How::revoked}));
  EXPECT_EQ(departures("fixed", {{"time", 10.0}, {"lost", 1.0}}, 1, {0}, 5.0, 12.0)[0].how, How::lost);
}

/// "inf", the default of `time`, may also be written, in both options.
TEST(Fates, AMachineOfInfiniteLifetimeNeverDeparts) {
  const auto all = departures("fixed", {{"times", std::string("inf;200,inf")}, {"time", std::string("inf")}},
                              1, {0, 0, 0}, 50.0, 1e6);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0], (Departure{200.0, {1, 1}, How::revoked}));
  EXPECT_TRUE(departures("never", {{"limit", std::string("inf")}}, 1, {0, 0}, 10.0, 1e9).empty());
}

TEST(Fates, TheShareOfLossesIsTheOption) {
  const auto all = departures("exponential", {{"mean", 10.0}, {"lost", 0.25}}, 3, {0}, 0.0, 1e5);
  const auto lost = std::ranges::count(all, How::lost, &Departure::how);
  const double share = static_cast<double>(lost) / static_cast<double>(all.size());
  EXPECT_NEAR(share, 0.25, 4 * std::sqrt(0.25 * 0.75 / static_cast<double>(all.size())));
}

/// E[revocations of a slot by t] = t / mean, if the replacement needs no time.
TEST(Fates, ExponentialReplacementsAreAPoissonProcess) {
  const auto all = departures("exponential", {{"mean", 50.0}}, 3, {0, 0, 0, 0}, 0.0, 1e5);
  EXPECT_NEAR(static_cast<double>(all.size()), 8000.0, 4 * std::sqrt(8000.0));
}

/// The renewal process of a slot whose machine is there at first: with a replacement after B, departures by t
/// are t / c - E[T] / c + (Var[T] + c^2) / (2 c^2), where c = E[T] + B, and the live share is E[T] / c.
TEST(Fates, ReplacementsAreARenewalProcess) {
  struct Case {
    std::string model;
    Given options;
    double mean, variance;
  };
  const double gamma2 = std::tgamma(1.0 + 1.0 / 0.7), gamma4 = std::tgamma(1.0 + 2.0 / 0.7);
  const Case cases[] = {
      {"exponential", {{"mean", 50.0}}, 50.0, 2500.0},
      {"weibull", {{"shape", 0.7}, {"scale", 40.0}}, 40.0 * gamma2, 1600.0 * (gamma4 - gamma2 * gamma2)}};
  constexpr double until = 2e4, wait = 30.0;
  constexpr std::size_t slots = 16;
  for (const auto& [model, options, mean, variance] : cases) {
    const auto all = departures(model, options, 5, std::vector<std::size_t>(slots, 0), wait, until);
    const double cycle = mean + wait;
    const double expected = until / cycle - mean / cycle + (variance + cycle * cycle) / (2.0 * cycle * cycle);
    const double error = std::sqrt(slots * until * variance / (cycle * cycle * cycle));
    EXPECT_NEAR(static_cast<double>(all.size()), slots * expected, 3.0 * error) << model;
    double empty = 0.0;
    for (const auto& one : all) empty += std::min(wait, until - one.time);
    EXPECT_NEAR(1.0 - empty / (slots * until), mean / cycle, 3.0 * error * wait / (slots * until) + 1e-3)
        << model;
  }
}

/// The first of n machines departs after 1 / (n rate) on average.
TEST(Fates, TheFirstOfSeveralExponentialMachines) {
  double sum = 0.0;
  constexpr int count = 4000;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const auto fates = make_fates("exponential", {{"mean", 100.0}}, seed, {0, 0, 0, 0, 0});
    for (std::size_t slot = 0; slot < 5; ++slot) fates->arrive({slot, 1}, 0.0);
    sum += fates->next()->time;
  }
  EXPECT_NEAR(sum / count, 20.0, 3.0 * 20.0 / std::sqrt(count));
}

TEST(Fates, ATraceReplaysItsEvents) {
  const std::string events = "5 add late; 10 warn a; 12 remove a; 20 remove b; 30 add a; 40 remove late";
  const auto fates = make_fates("trace", {{"events", events}}, 1, {0, 0, 0});
  // In the order of their first appearance: late, a, b.
  EXPECT_EQ(fates->obtainable(0, 0.0), 5.0);
  EXPECT_EQ(fates->obtainable(1, 12.0), 30.0);
  EXPECT_EQ(fates->obtainable(2, 20.0), infinity);
  const auto all = departures(*fates, 3, 0.0, 1e6);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], (Departure{12.0, {1, 1}, How::revoked}));
  EXPECT_EQ(all[1], (Departure{20.0, {2, 1}, How::lost}));
  EXPECT_EQ(all[2], (Departure{40.0, {0, 1}, How::lost}));
}

TEST(Fates, StatesRepeat) {
  const auto fates = make_fates(
      "states", {{"off", std::string("3,15")}, {"on", std::string("5")}, {"period", 20.0}}, 1, {0, 0});
  EXPECT_EQ(fates->obtainable(0, 2.0), 2.0);
  EXPECT_EQ(fates->obtainable(0, 3.0), 5.0);
  // Down from 15 to 20, and still down until the second period brings it up.
  EXPECT_EQ(fates->obtainable(1, 16.0), 25.0);
  EXPECT_EQ(fates->obtainable(1, 21.0), 25.0);
  std::vector<double> times;
  for (const auto& departure : departures(*fates, 1, 0.0, 60.0)) {
    EXPECT_EQ(departure.how, How::lost);
    times.push_back(departure.time);
  }
  EXPECT_EQ(times, (std::vector<double>{3.0, 15.0, 35.0, 55.0}));
  const auto once = make_fates("states", {{"off", std::string("3")}}, 1, {0});
  EXPECT_EQ(once->obtainable(0, 3.0), infinity);
  // Up at first, but not when it repeats.
  const auto later =
      make_fates("states", {{"off", std::string("7")}, {"on", std::string("3")}, {"period", 11.0}}, 1, {0});
  EXPECT_EQ(later->obtainable(0, 2.0), 2.0);
  EXPECT_EQ(later->obtainable(0, 8.0), 14.0);
  EXPECT_EQ(later->obtainable(0, 12.0), 14.0);
  EXPECT_EQ(later->obtainable(0, 19.0), 25.0);
  // Repeats at its last time.
  const auto dense =
      make_fates("states", {{"off", std::string("3")}, {"on", std::string("5")}, {"period", 5.0}}, 1, {0});
  EXPECT_EQ(dense->obtainable(0, 4.0), 5.0);
  EXPECT_EQ(dense->obtainable(0, 5.5), 5.5);
  EXPECT_EQ(dense->obtainable(0, 9.0), 10.0);
  EXPECT_THROW(make_fates("states", {{"off", std::string("3")}, {"period", 2.0}}, 1, {0}), OptionError);
  EXPECT_THROW(make_fates("states", {{"off", std::string("soon")}}, 1, {0}), OptionError);
}

TEST(Fates, ATraceOfDrawnTimesIsTheDrawnModel) {
  const auto drawn = departures("weibull", {{"scale", 5000.0}}, 9, {0, 0, 0}, 60.0, 1e5);
  ASSERT_GT(drawn.size(), 20U);
  // Each node is back when its replacement arrives. Names in the order of the first departures.
  std::vector<std::pair<double, std::string>> events;
  for (const auto& departure : drawn) {
    const std::string node = std::to_string(departure.occupant.slot);
    events.emplace_back(departure.time, "remove " + node);
    events.emplace_back(departure.time + 60.0, "add " + node);
  }
  std::ranges::stable_sort(events, {}, &std::pair<double, std::string>::first);
  std::string text;
  for (const auto& [time, event] : events)
    text += (text.empty() ? "" : ";") + to_text(OptionValue(time)) + ' ' + event;
  std::vector<std::size_t> slots;  // of the drawn model, by slot of the trace
  for (const auto& departure : drawn)
    if (std::ranges::find(slots, departure.occupant.slot) == slots.end())
      slots.push_back(departure.occupant.slot);
  auto replayed = departures("trace", {{"events", text}}, 1, {0, 0, 0}, 60.0, 1e5);
  ASSERT_EQ(replayed.size(), drawn.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_NEAR(replayed[i].time, drawn[i].time, 1e-9);
    EXPECT_EQ(slots[replayed[i].occupant.slot], drawn[i].occupant.slot);
    EXPECT_EQ(replayed[i].occupant.incarnation, drawn[i].occupant.incarnation);
  }
}

/// The share of seeds with which all `slots` machines of one group live longer than t.
double all_survive(const Given& options, std::size_t slots, double t, std::uint64_t seeds) {
  double survived = 0.0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto fates = make_fates("shocks", options, seed, std::vector<std::size_t>(slots, 0));
    for (std::size_t slot = 0; slot < slots; ++slot) fates->arrive({slot, 1}, 0.0);
    survived += fates->next()->time > t ? 1.0 : 0.0;
  }
  return survived / static_cast<double>(seeds);
}

/// P(all n live longer than t) = e^(-q t (1 - (1-c)^n)) S(t)^n.
TEST(Fates, AllSurviveShocksAsTheClosedFormSays) {
  constexpr std::uint64_t seeds = 20'000;
  constexpr double t = 500.0, q = 1.0 / 1000.0, own = 1.0 / 4000.0;
  for (const double c : {0.0, 0.3, 1.0})
    for (const std::size_t n : {1U, 2U, 5U}) {
      const auto count = static_cast<double>(n);
      const double expected = std::exp(-q * t * (1.0 - std::pow(1.0 - c, count)) - own * t * count);
      const double found =
          all_survive({{"mean", 4000.0}, {"shock_mean", 1000.0}, {"chance", c}}, n, t, seeds);
      EXPECT_NEAR(found, expected, 4 * std::sqrt(expected * (1 - expected) / seeds)) << c << ' ' << n;
    }
}

TEST(Fates, ShocksWithoutChanceAreIndependentLifetimes) {
  for (const auto seed : testing::seeds(5)) {
    TANDEM_TRACE_SEED(seed);
    EXPECT_EQ(departures("shocks", {{"mean", 500.0}, {"chance", 0.0}}, seed, {0, 0, 1}, 20.0, 1e5),
              departures("exponential", {{"mean", 500.0}}, seed, {0, 0, 1}, 20.0, 1e5));
  }
}

TEST(Fates, AShockStrikesOneGroupOnly) {
  const auto all = departures("shocks", {{"mean", 1e15}, {"shock_mean", 100.0}, {"chance", 1.0}}, 4,
                              {0, 0, 1, 1}, 1.0, 5000.0);
  ASSERT_GT(all.size(), 40U);
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    EXPECT_EQ(all[i].time, all[i + 1].time);
    EXPECT_EQ(all[i].occupant.slot / 2, all[i + 1].occupant.slot / 2) << "one of each pair's groups";
  }
}

/// P(up at t) = v/(u+v) + u/(u+v) e^(-(u+v) t), if the zone is up at 0.
TEST(Fates, ZonesAreUpAsOftenAsTheClosedFormSays) {
  constexpr std::uint64_t seeds = 20'000;
  constexpr double u = 1.0 / 300.0, v = 1.0 / 100.0;
  for (const double t : {0.0, 20.0, 100.0, 2000.0}) {
    double up = 0.0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      up += make_fates("markov", {{"up_mean", 300.0}, {"down_mean", 100.0}}, seed, {0})->obtainable(0, t) <= t
                ? 1.0
                : 0.0;
    const double expected = v / (u + v) + u / (u + v) * std::exp(-(u + v) * t);
    EXPECT_NEAR(up / seeds, expected, 4 * std::sqrt(expected * (1 - expected) / seeds) + 1e-12) << t;
  }
}

TEST(Fates, AZoneTakesAllOfItsMachinesAndComesBack) {
  const auto fates = make_fates("markov", {}, 5, {0, 0, 1});
  for (std::size_t slot = 0; slot < 3; ++slot) fates->arrive({slot, 1}, 0.0);
  std::vector<Departure> all;
  while (const auto departure = fates->next()) {
    all.push_back(*departure);
    fates->depart(departure->occupant.slot, departure->time);
  }
  std::ranges::sort(all, {}, [](const Departure& departure) { return departure.occupant.slot; });
  EXPECT_EQ(all[0].time, all[1].time);
  EXPECT_NE(all[0].time, all[2].time);
  EXPECT_GT(fates->obtainable(0, all[0].time), all[0].time);
  EXPECT_EQ(fates->obtainable(0, all[0].time), fates->obtainable(1, all[0].time));
}

TEST(Fates, AConstantCapacityNeverRevokes) {
  EXPECT_TRUE(
      departures("capacity-trace", {{"counts", std::string("3,3,3")}}, 1, {0, 0, 0}, 10.0, 1e6).empty());
}

TEST(Fates, CapacityRevokesTheNewestAndRequestsWait) {
  const Given options = {{"counts", std::string("2,2,1,3")}, {"gap", 10.0}};
  const auto fates = make_fates("capacity-trace", options, 1, {0, 0, 0});
  fates->arrive({1, 1}, 0.0);
  fates->arrive({0, 1}, 5.0);
  EXPECT_EQ(fates->obtainable(2, 5.0), 30.0);
  EXPECT_EQ(fates->next(), (Departure{20.0, {0, 1}, How::revoked}));
  fates->depart(0, 20.0);
  EXPECT_EQ(fates->next(), std::nullopt);
  EXPECT_EQ(fates->obtainable(0, 20.0), 30.0);

  const auto oldest = make_fates(
      "capacity-trace",
      {{"counts", std::string("2,2,1,3")}, {"gap", 10.0}, {"revokes", std::string("oldest")}}, 1, {0, 0, 0});
  oldest->arrive({1, 1}, 0.0);
  oldest->arrive({0, 1}, 5.0);
  EXPECT_EQ(oldest->next(), (Departure{20.0, {1, 1}, How::revoked}));
}

/// A machine that leaves by itself makes room.
TEST(Fates, CapacityThatIsFreeRevokesNobody) {
  const auto fates = make_fates("capacity-trace", {{"counts", std::string("2,1")}, {"gap", 10.0}}, 1, {0, 0});
  fates->arrive({0, 1}, 0.0);
  fates->arrive({1, 1}, 1.0);
  ASSERT_TRUE(fates->next());
  fates->depart(0, 5.0);
  EXPECT_EQ(fates->next(), std::nullopt);
}

TEST(Fates, CapacityHonoursLimitAndMinimum) {
  const auto fates = make_fates(
      "capacity-trace", {{"counts", std::string("2,1")}, {"gap", 10.0}, {"minimum", 8.0}, {"limit", 14.0}}, 1,
      {0, 0});
  fates->arrive({0, 1}, 3.0);
  fates->arrive({1, 1}, 4.0);
  EXPECT_EQ(fates->next(), (Departure{11.0, {0, 1}, How::revoked})) << "the first that has lived for 8 s";
  fates->depart(0, 11.0);
  EXPECT_EQ(fates->next(), (Departure{18.0, {1, 1}, How::revoked})) << "by the limit";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::lifetimes

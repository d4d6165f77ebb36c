// Tables of events: those that are made from drawn fates give back the lifetimes and the fates.
#include "cli/fit/events_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policies/lifetimes/catalog.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::cli {
namespace TANDEM_FILE {

using lifetimes::Departure;

constexpr std::size_t slots = 4;
constexpr double until = 50'000.0;
const std::vector<std::size_t> groups(slots, 0);

/// All departures in slots that are filled again at once.
std::vector<Departure> departures_of(lifetimes::Fates& fates) {
  std::vector<Departure> all;
  for (std::size_t slot = 0; slot < slots; ++slot) fates.arrive({slot, 1}, 0.0);
  while (const auto departure = fates.next()) {
    if (departure->time > until) break;
    all.push_back(*departure);
    const auto [slot, incarnation] = departure->occupant;
    fates.depart(slot, departure->time);
    if (fates.obtainable(slot, departure->time) <= departure->time)
      fates.arrive({slot, incarnation + 1}, departure->time);
  }
  return all;
}

struct Made {
  std::string text = {};               ///< of the table
  std::vector<double> lifetimes = {};  ///< of those that departed
  std::vector<double> alive = {};      ///< ages of the others at the last event
};

Made made_from(const std::vector<Departure>& departures) {
  Made made{.text = "time,event,node\n"};
  const auto add = [&made](double time, const char* event, std::size_t slot) {
    made.text += to_text(OptionValue(time)) + ',' + event + ",node-" + std::to_string(slot) + '\n';
  };
  std::vector<double> begins(slots, 0.0);
  for (std::size_t slot = 0; slot < slots; ++slot) add(0.0, "add", slot);
  for (const auto& departure : departures) {
    const std::size_t slot = departure.occupant.slot;
    add(departure.time, "remove", slot);
    add(departure.time, "add", slot);
    made.lifetimes.push_back(departure.time - begins[slot]);
    begins[slot] = departure.time;
  }
  const double last = departures.back().time;
  for (const double begin : begins)
    if (begin < last) made.alive.push_back(last - begin);
  return made;
}

TEST(EventsOfDrawnFates, GiveBackTheirLifetimesAndFates) {
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    const auto drawn =
        departures_of(*lifetimes::make_fates("weibull", {{"scale", 5000.0}, {"shape", 0.7}}, seed, groups));
    ASSERT_GT(drawn.size(), 5U);
    Made made = made_from(drawn);
    const testing::TemporaryFolder folder;
    const auto events = read_events(CsvTable(folder.write("events.csv", made.text), "events"));
    EXPECT_EQ(nodes_there_before(events), 0U);
    std::vector<double> found, alive;
    EXPECT_FALSE(lifetimes_of(events).is_on_clock);
    for (const auto& one : lifetimes_of(events).observations)
      (one.died ? found : alive).push_back(one.duration);
    EXPECT_EQ(found, made.lifetimes);
    std::ranges::sort(alive);
    std::ranges::sort(made.alive);
    EXPECT_EQ(alive, made.alive);
    const auto replayed =
        departures_of(*lifetimes::make_fates("trace", {{"events", trace_text(events)}}, seed, groups));
    EXPECT_EQ(replayed, drawn);
  }
}

TEST(EventsOfNodes, TheirAgesBeforeTheFirstEventAreUnknown) {
  const testing::TemporaryFolder folder;
  const auto events = read_events(CsvTable(
      folder.write("events.csv",
                   "time,event,node,zone\n2024-05-01T12:00Z,warn,a,west\n2024-05-01T12:01Z,remove,a,west\n"
                   "2024-05-01T12:02Z,remove,b,east\n2024-05-01T12:03Z,add,c,east\n"),
      "events"));
  EXPECT_EQ(nodes_there_before(events), 2U);
  const auto file = lifetimes_of(events);
  ASSERT_EQ(file.observations.size(), 2U) << "c was added with the last event";
  EXPECT_TRUE(file.is_on_clock);
  EXPECT_EQ(std::fmod(file.times[0].begin, 86'400.0), 12 * 3600.0);
  EXPECT_EQ(file.observations[0].duration, 60.0);
  EXPECT_EQ(file.observations[1].duration, 120.0);
  EXPECT_EQ(file.failed, (std::vector<bool>{false, true})) << "b had no warning";
  EXPECT_EQ(file.texts, (std::vector<std::vector<std::string>>{{"west"}, {"east"}}));
  EXPECT_EQ(trace_text(events), "0 warn a;60 remove a;120 remove b;180 add c");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cli

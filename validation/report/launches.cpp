#include "validation/report/launches.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/quantile.hpp"
#include "validation/report/view.hpp"
#include "workloads/records/launches.hpp"

namespace tandem::validation {
namespace {

double seconds_or_nan(const std::optional<Seconds>& time) {
  return time ? time->count() : std::numeric_limits<double>::quiet_NaN();
}

/// The launches of a configuration in both worlds; measured: of the first repetition.
struct LaunchesOfWorlds {
  explicit LaunchesOfWorlds(const ReportConfiguration& configuration)
      : simulated(configuration.environment.simulated.generations),
        measured(configuration.environment.measured.generations) {}

  bool are_some() const { return !simulated.empty() || !measured.empty(); }

  const std::vector<LaunchRecord>& simulated;
  const std::vector<LaunchRecord>& measured;
};

/// A launch that only one of the two has is empty in the other.
struct LaunchOfWorlds {
  const LaunchRecord* simulated;
  const LaunchRecord* measured;

  /// "1.2 s / 1.3 s".
  template <class Value>
  Cell both(Unit unit, Value value) const {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return Cell(both_worlds(simulated ? value(*simulated) : nan, measured ? value(*measured) : nan, unit));
  }
};

Cell end_of(const LaunchRecord* launch) {
  return Cell(launch == nullptr ? "-" : launch->ended.value_or("the job was done"));
}

double launched_s(const LaunchRecord& launch) { return seconds_or_nan(launch.launched); }
double began_s(const LaunchRecord& launch) { return seconds_or_nan(launch.began); }
double ready_after_s(const LaunchRecord& launch) { return seconds_or_nan(launch.ready_after()); }
double first_round(const LaunchRecord& launch) { return static_cast<double>(launch.round); }

}  // namespace

std::vector<LaunchSpan> launch_spans(const std::vector<LaunchRecord>& launches, double end_s) {
  std::vector<LaunchSpan> spans;
  for (auto launch = launches.begin(); launch != launches.end(); ++launch) {
    if (launch == launches.begin() || !launch->launched) continue;
    const auto next = std::next(launch);
    const double given_up_s = next == launches.end() || !next->launched ? end_s : next->launched->count();
    spans.push_back(
        {launch->number, launch->launched->count(), launch->began ? launch->began->count() : given_up_s});
  }
  return spans;
}

Table launches_table(const std::vector<LaunchRecord>& launches) {
  Table table{
      .columns = {
          {"Launch"}, {"Launched"}, {"Ready"}, {"Ready after"}, {"From round"}, {"Ended because", true}}};
  const auto seconds = [](double value) { return Cell(with_unit(value, Unit::seconds)); };
  for (const auto& launch : launches)
    table.rows.push_back(
        {{std::to_string(launch.number), seconds(launched_s(launch)), seconds(began_s(launch)),
          seconds(ready_after_s(launch)), with_separators(launch.round), end_of(&launch)}});
  table.size = Table::Size::scrolling;
  return table;
}

Table launches_of_configuration(const ReportConfiguration& configuration) {
  Table table{.columns = {{"Launch"},
                          {"Launched: simulated / measured"},
                          {"Ready"},
                          {"Ready after"},
                          {"From round"},
                          {"Ended because, simulated", true},
                          {"measured", true}}};
  const LaunchesOfWorlds worlds(configuration);
  const auto at = [](const std::vector<LaunchRecord>& launches, std::size_t number) {
    return number < launches.size() ? &launches[number] : nullptr;
  };
  for (std::size_t i = 0; i < std::max(worlds.simulated.size(), worlds.measured.size()); ++i) {
    const LaunchOfWorlds launch{at(worlds.simulated, i), at(worlds.measured, i)};
    table.rows.push_back(
        {{std::to_string(i), launch.both(Unit::seconds, launched_s), launch.both(Unit::seconds, began_s),
          launch.both(Unit::seconds, ready_after_s), launch.both(Unit::count, first_round),
          end_of(launch.simulated), end_of(launch.measured)}});
  }
  table.size = Table::Size::scrolling;
  return table;
}

Table launches_overview(const Report& report) {
  Table table{
      .columns = {{"Configuration"}, {"Launches: simulated / measured"}, {"Ready after"}, {"Longest"}}};
  for (const auto* configuration : report.compared()) {
    const LaunchesOfWorlds worlds(*configuration);
    if (!worlds.are_some()) continue;
    const auto simulated = ready_times_s(worlds.simulated), measured = ready_times_s(worlds.measured);
    const auto both = [&](double share) {
      return Cell(both_worlds(quantile(simulated, share), quantile(measured, share), Unit::seconds));
    };
    // A job that did not start again was launched once.
    const auto count = [](const std::vector<LaunchRecord>& launches) {
      return static_cast<double>(std::max<std::size_t>(1, launches.size()));
    };
    table.rows.push_back(
        {{configuration->name, both_worlds(count(worlds.simulated), count(worlds.measured), Unit::count),
          both(0.5), both(1.0)}});
  }
  return table;
}

void add_launches(const Report& report, Page& page) {
  Table table = launches_overview(report);
  if (table.rows.empty()) return;
  page.add(Heading{2, "Launches of jobs that started again"},
           Note{"All ranks are launched again when a rank has died or a machine has departed. Ready after: "
                "from a launch until all its ranks were ready, the median of the launches after the first "
                "one. Measured: in the first run."},
           std::move(table));
}

}  // namespace tandem::validation

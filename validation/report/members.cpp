#include "validation/report/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "validation/report/launches.hpp"
#include "validation/report/view.hpp"
#include "workloads/records/metrics.hpp"
#include "workloads/records/occupants.hpp"

namespace tandem::validation {
namespace {

/// More rows are in membership.csv.
constexpr std::size_t most_occupants = 200;
constexpr std::size_t most_events = 300;

std::optional<double> seconds_of(const std::optional<Seconds>& time) {
  return time ? std::optional(time->count()) : std::nullopt;
}

std::vector<std::pair<double, double>> pauses_of(const Results& results, double end_s) {
  std::vector<std::pair<double, double>> pauses;
  bool is_paused = false;
  for (const auto& change : results.journal.membership) {
    const double time = change.time.count();
    if (change.event == "paused") pauses.emplace_back(time, end_s);
    if (change.event == "resumed" && is_paused) pauses.back().second = time;
    if (change.event == "paused" || change.event == "resumed") is_paused = change.event == "paused";
  }
  return pauses;
}

std::string slot_label(const RunInfo& info, int slot) {
  const auto ranks = ranks_of_slots(info);
  const auto place = static_cast<std::size_t>(slot);
  const std::string host = place < ranks.size() ? host_of(info, ranks[place]) : "";
  return fmt::format("slot {}{}", slot, host.empty() ? "" : " on " + host);
}

std::vector<MemberStay> stays_of(const std::vector<Occupant>& occupants, int slot) {
  std::vector<MemberStay> stays;
  for (const auto& occupant : occupants)
    if (occupant.slot == slot && occupant.joined)
      stays.push_back({.machine = occupant.incarnation,
                       .arrived = occupant.arrived(),
                       .joined_s = occupant.joined->count(),
                       .departed_s = seconds_of(occupant.departed),
                       .gone_s = seconds_of(occupant.gone),
                       .cause = occupant.cause});
  return stays;
}

std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", with_separators(count), what, count == 1 ? "" : "s");
}

/// Who departed and arrived, and what became of the samples.
std::string summary_text(const Results& results) {
  std::int64_t departures = 0, arrivals = 0;
  for (const auto& occupant : occupants_of(results.journal)) {
    departures += occupant.departed ? 1 : 0;
    arrivals += occupant.arrived() ? 1 : 0;
  }
  const SampleCounts samples = sample_counts(results.info, results.journal);
  std::string text = fmt::format("{}, {}.", counted(departures, "departure"), counted(arrivals, "arrival"));
  if (!samples.applied || !samples.pending) return text;
  text += fmt::format(" Samples: {} processed = {} applied + {} dropped + {} pending",
                      with_separators(samples.processed), with_separators(*samples.applied),
                      with_separators(samples.dropped), with_separators(*samples.pending));
  if (results.info.experiment.continuation() != Continuation::restart_on_departure)
    return text + fmt::format(" + {} lost{}.",
                              samples.lost_is_known ? with_separators(samples.lost) : "an unknown number",
                              samples.done_again ? fmt::format("; {} more were done again",
                                                               with_separators(*samples.done_again))
                                                 : "");
  return text + (samples.lost_is_known
                     ? fmt::format("; {} more were lost and done again.", with_separators(samples.lost))
                     : "; more were lost and done again, their number is not known.");
}

// ---- Cells ----

Cell both_cell(const BothWorlds& worlds, Unit unit) {
  return both_worlds(value_or_nan(worlds.simulated), value_or_nan(worlds.measured), unit);
}
Cell both_cell(const MembersFigure& figure, Unit unit) {
  return both_worlds(figure.simulated, figure.measured, unit);
}

Cell text_cell(const std::string& text) { return text.empty() ? Cell("-") : Cell(text); }

Cell signed_number(const std::optional<double>& value, double beyond) {
  const double number = value_or_nan(value);
  if (std::isnan(number)) return Cell("-");
  return Cell((number > 0 ? "+" : "") + three_digits(number),
              std::abs(number) > beyond ? Cell::Mark::beyond : Cell::Mark::none);
}

std::vector<const ReportConfiguration*> with_members(const Report& report) {
  auto configurations = report.compared();
  std::erase_if(configurations, [](const auto* own) { return !own->members; });
  return configurations;
}

constexpr double any = std::numeric_limits<double>::infinity();
/// Lost work is predicted if it is within a step of each departure.
constexpr double most_steps = 1.0;

}  // namespace

std::vector<int> shown_slots(const std::vector<const Results*>& results) {
  std::map<int, std::size_t> machines;
  for (const Results* own : results)
    for (const auto& occupant : occupants_of(own->journal)) ++machines[occupant.slot];
  std::vector<std::pair<int, std::size_t>> by_count(machines.begin(), machines.end());
  std::ranges::stable_sort(by_count, std::greater(), &std::pair<int, std::size_t>::second);
  by_count.resize(std::min(by_count.size(), most_slots));
  std::vector<int> slots;
  for (const auto& [slot, count] : by_count) slots.push_back(slot);
  std::ranges::sort(slots);
  return slots;
}

MembersOfRun members_of_run(const Results& results, const std::vector<int>& slots) {
  const auto occupants = occupants_of(results.journal);
  const double end_s = results.summary.makespan_s;
  MembersOfRun members{.end_s = end_s,
                       .slots_left_out = ranks_of_slots(results.info).size() - slots.size(),
                       .pauses = pauses_of(results, end_s),
                       .launches = launch_spans(results.info.generations, end_s)};
  for (const auto& [time, workers] : live_workers(occupants))
    members.live.emplace_back(time.count(), workers);
  for (const int slot : slots)
    members.slots.push_back({slot, slot_label(results.info, slot), stays_of(occupants, slot)});
  return members;
}

std::optional<MembersOfResult> members_of_result(const Results& results) {
  if (results.journal.membership.empty()) return std::nullopt;
  MembersOfResult members{members_of_run(results, shown_slots({&results}))};
  for (const auto& change : results.journal.membership) {
    if (members.events.size() == most_events) break;
    members.events.push_back({.time_s = change.time.count(),
                              .slot = change.slot,
                              .machine = change.incarnation,
                              .host = change.host,
                              .region = change.region,
                              .zone = change.zone,
                              .event = change.event,
                              .cause = change.cause,
                              .view = change.view});
  }
  members.events_left_out = results.journal.membership.size() - members.events.size();
  members.summary = summary_text(results);
  return members;
}

Table events_table(const MembersOfResult& members) {
  const auto slot = [](const MemberEvent& row) {
    return row.slot < 0 ? Cell("-") : Cell(std::to_string(row.slot));
  };
  // A requested machine has no number yet.
  const auto machine = [](const MemberEvent& row) {
    const bool is_of_job = row.slot < 0 && row.host.empty();
    const bool has_none = is_of_job || row.event == "requested" || row.event == "refused";
    return has_none ? Cell("-") : Cell(std::to_string(row.machine));
  };
  Table table = table_of(
      pointers_to(members.events),
      {{"Time", [](const MemberEvent& row) { return Cell(with_unit(row.time_s, Unit::seconds)); }},
       {"Slot", slot},
       {"Machine", machine},
       {"Host", [](const MemberEvent& row) { return text_cell(row.host); }, true},
       {"Region", [](const MemberEvent& row) { return text_cell(row.region); }, true},
       {"Zone", [](const MemberEvent& row) { return text_cell(row.zone); }, true},
       {"Event", [](const MemberEvent& row) { return text_cell(row.event); }, true},
       {"How", [](const MemberEvent& row) { return text_cell(row.cause); }, true},
       {"Changes of members so far", [](const MemberEvent& row) { return Cell(std::to_string(row.view)); }}});
  table.size = Table::Size::scrolling;
  return without_empty_columns(std::move(table));
}

std::optional<ReportMembers> report_members(const std::optional<Members>& members) {
  if (!members) return std::nullopt;
  return ReportMembers{.departures = members->departures,
                       .arrivals = members->arrivals,
                       .lost_samples = members->lost_samples,
                       .largest_shift_s = members->largest_shift(),
                       .noticed_after_s = members->mean(&ComparedOccupant::noticed_after),
                       .gone_after_s = members->mean(&ComparedOccupant::gone_after),
                       .batch = members->batch,
                       .lost_per_departure = members->lost_per_departure(),
                       .lost_steps_per_departure = members->lost_steps_per_departure(),
                       .differences = members->differences,
                       .after_the_end = members->after_the_end};
}

std::optional<ShownMembers> shown_members(const Results& simulated, const Results& measured,
                                          const std::optional<Members>& members) {
  if (!members) return std::nullopt;
  const auto slots = shown_slots({&simulated, &measured});
  ShownMembers shown{{members_of_run(simulated, slots), members_of_run(measured, slots)}};
  const auto& places = simulated.info.places;
  for (const auto& own : members->occupants) {
    if (shown.occupants.size() == most_occupants) break;
    const auto found = places.find(own.host);
    const HostPlace place = found == places.end() ? HostPlace{} : found->second;
    shown.occupants.push_back({.slot = own.slot,
                               .machine = own.incarnation,
                               .host = own.host,
                               .region = place.region,
                               .zone = place.zone,
                               .cause = own.cause,
                               .joined_s = own.joined,
                               .departed_s = own.departed,
                               .noticed_after_s = own.noticed_after,
                               .gone_after_s = own.gone_after});
  }
  shown.occupants_left_out = members->occupants.size() - shown.occupants.size();
  return shown;
}

std::optional<WindowMembers> members_in_window(const Results& results, int slot, double begin,
                                               double length) {
  if (results.journal.membership.empty()) return std::nullopt;
  const auto occupants = occupants_of(results.journal);
  WindowMembers members;
  for (const auto& [from, to] : absences(occupants, slot, Seconds(begin + length))) {
    const double start = std::max(0.0, from.count() - begin), end = std::min(length, to.count() - begin);
    if (end > start) members.absent.emplace_back(start, end - start);
  }
  const auto mark = [&](const std::optional<Seconds>& time, const char* kind, const std::string& text) {
    if (time && time->count() >= begin && time->count() <= begin + length)
      members.marks.push_back({time->count() - begin, kind, text});
  };
  for (const auto& occupant : occupants) {
    if (occupant.slot != slot || !occupant.joined) continue;
    mark(occupant.joined, "joined", fmt::format("machine {} joined", occupant.incarnation));
    mark(occupant.departed, "departed",
         fmt::format("machine {} departed ({})", occupant.incarnation, occupant.cause));
  }
  return members;
}

std::string members_text(const Report& report) {
  const auto rows = with_members(report);
  if (rows.empty()) return "";
  std::size_t different = 0, count = 0;
  double sum = 0, worst = 0;
  std::string name;
  for (const auto* configuration : rows) {
    different += configuration->members->differences.empty() ? 0 : 1;
    const double steps = std::abs(value_or_nan(configuration->members->lost_steps_per_departure));
    if (std::isnan(steps)) continue;
    ++count;
    sum += steps;
    if (steps >= worst) name = configuration->name;
    worst = std::max(worst, steps);
  }
  std::string text = fmt::format(
      "Machines that departed: the same in simulation and measurement in {} of {} configuration{}.",
      rows.size() - different, rows.size(), rows.size() == 1 ? "" : "s");
  if (count == 0) return text;
  return text +
         fmt::format(
             " Lost samples differ by {} steps of a worker per departure on average, and by at most {} ({}).",
             three_digits(sum / static_cast<double>(count)), three_digits(worst), name);
}

Table members_table(const Report& report) {
  const auto of = [](auto cell) {
    return [cell](const ReportConfiguration& row) { return Cell(cell(*row.members)); };
  };
  const auto both = [&](auto member, Unit unit) {
    return of([member, unit](const ReportMembers& members) { return both_cell(members.*member, unit); });
  };
  const auto same = [](const ReportMembers& members) {
    const std::size_t count = members.differences.size();
    return Cell(count == 0 ? "same" : fmt::format("{} differ", count),
                count == 0 ? Cell::Mark::none : Cell::Mark::beyond);
  };
  return table_of(with_members(report),
                  {{"Configuration", [](const ReportConfiguration& row) { return Cell(row.name); }},
                   {"Machines", of(same), true},
                   {"Departures", both(&ReportMembers::departures, Unit::count)},
                   {"Arrivals", both(&ReportMembers::arrivals, Unit::count)},
                   {"Largest shift", of([](const ReportMembers& members) {
                      return with_unit(value_or_nan(members.largest_shift_s), Unit::seconds);
                    })},
                   {"Noticed after", both(&ReportMembers::noticed_after_s, Unit::seconds)},
                   {"Gone after", both(&ReportMembers::gone_after_s, Unit::seconds)},
                   {"Lost samples", both(&ReportMembers::lost_samples, Unit::count)},
                   {"Difference per departure", of([](const ReportMembers& members) {
                      return signed_number(members.lost_per_departure, any);
                    })},
                   {"in steps", of([](const ReportMembers& members) {
                      return signed_number(members.lost_steps_per_departure, most_steps);
                    })}});
}

Table numbers_of_workers_table(const ReportConfiguration& configuration) {
  struct Both {
    int workers = 0;
    TimeOfWorkers simulated{}, measured{};
  };
  std::map<int, Both> rows;
  const auto add = [&](const RunMetrics& run, TimeOfWorkers Both::*world) {
    if (!run.membership) return;
    for (const TimeOfWorkers& own : run.membership->by_workers) {
      rows[own.workers].workers = own.workers;
      rows[own.workers].*world = own;
    }
  };
  const ReportMetrics& metrics = configuration.metrics;
  add(metrics.simulated, &Both::simulated);
  if (!metrics.measured.empty()) add(metrics.measured.front(), &Both::measured);
  std::vector<const Both*> pointers;
  for (const auto& [workers, row] : rows) pointers.push_back(&row);
  const auto speed = [](const TimeOfWorkers& own) {
    return own.time > Seconds(0) ? static_cast<double>(own.samples) / own.time.count() : std::nan("");
  };
  return table_of(
      pointers, {{"Workers", [](const Both& row) { return Cell(std::to_string(row.workers)); }},
                 {"Factor on the learning rate",
                  [&](const Both& row) {
                    return Cell(three_digits(rate_factor_of(configuration.experiment, row.workers)));
                  }},
                 {"Time: simulated / measured",
                  [](const Both& row) {
                    return both_worlds(row.simulated.time.count(), row.measured.time.count(), Unit::seconds);
                  }},
                 {"Samples/s", [&](const Both& row) {
                    return both_worlds(speed(row.simulated), speed(row.measured), Unit::samples_per_second);
                  }}});
}

Table occupants_table(const ShownMembers& members) {
  const auto both = [](BothWorlds ShownOccupant::*times) {
    return [times](const ShownOccupant& row) { return both_cell(row.*times, Unit::seconds); };
  };
  const auto shift = [](const ShownOccupant& row) {
    const double difference = value_or_nan(row.departed_s.simulated) - value_or_nan(row.departed_s.measured);
    return Cell(with_unit(difference, Unit::seconds));
  };
  Table table =
      table_of(pointers_to(members.occupants),
               {{"Slot", [](const ShownOccupant& row) { return Cell(std::to_string(row.slot)); }},
                {"Machine", [](const ShownOccupant& row) { return Cell(std::to_string(row.machine)); }},
                {"Host", [](const ShownOccupant& row) { return text_cell(row.host); }, true},
                {"Region", [](const ShownOccupant& row) { return text_cell(row.region); }, true},
                {"Zone", [](const ShownOccupant& row) { return text_cell(row.zone); }, true},
                {"Joined: simulated / measured", both(&ShownOccupant::joined_s)},
                {"Departed", both(&ShownOccupant::departed_s)},
                {"Shift", shift},
                {"How", [](const ShownOccupant& row) { return text_cell(row.cause); }, true},
                {"Noticed after", both(&ShownOccupant::noticed_after_s)},
                {"Gone after", both(&ShownOccupant::gone_after_s)}});
  table.size = Table::Size::scrolling;
  return without_empty_columns(std::move(table));
}

std::vector<std::string> members_notes(const ReportConfiguration& configuration) {
  constexpr std::size_t most = 12;
  std::vector<std::string> notes;
  if (!configuration.members) return notes;
  const auto& differences = configuration.members->differences;
  for (std::size_t i = 0; i < std::min(most, differences.size()); ++i) notes.push_back(differences[i]);
  if (differences.size() > most)
    notes.push_back(fmt::format("{} more differences", differences.size() - most));
  if (const int late = configuration.members->after_the_end; late > 0)
    notes.push_back(fmt::format(
        "{} departure{} or arrival{} in only one of the two, after training had ended in the other", late,
        late == 1 ? "" : "s", late == 1 ? "" : "s"));
  return notes;
}

void add_members(const Report& report, Page& page) {
  Table table = members_table(report);
  if (table.rows.empty()) return;
  page.add(
      Heading{2, "Departures and arrivals of machines"},
      Note{"Simulation and measurement draw the same lifetimes. Machines are numbered in each slot. Times: "
           "largest shift of a departure between the two; means from a departure until the job knew of it "
           "(noticed), and until its rank had given up all work (gone). Lost samples are those of steps "
           "whose result never reached a server; the difference is simulated - measured, and a step is "
           "one batch of a worker."},
      Note{members_text(report)}, std::move(table));
}

}  // namespace tandem::validation

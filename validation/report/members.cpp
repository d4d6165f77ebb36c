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

using nlohmann::json;

/// More rows are in membership.csv.
constexpr std::size_t most_occupants = 200;
constexpr std::size_t most_events = 300;

json seconds_json(const std::optional<Seconds>& time) { return time ? json(time->count()) : json(); }
json number_or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }
json member_worlds(const BothWorlds& worlds) {
  return {{"simulated", number_or_null(worlds.simulated)}, {"measured", number_or_null(worlds.measured)}};
}
json member_worlds(const MembersFigure& figure) {
  return {{"simulated", figure.simulated}, {"measured", figure.measured}};
}

json pauses_of(const Results& results, double end_s) {
  json pauses = json::array();
  bool is_paused = false;
  for (const auto& change : results.journal.membership) {
    const double time = change.time.count();
    if (change.event == "paused") pauses.push_back({time, end_s});
    if (change.event == "resumed" && is_paused) pauses.back()[1] = time;
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

json stays_of(const std::vector<Occupant>& occupants, int slot) {
  json stays = json::array();
  for (const auto& occupant : occupants)
    if (occupant.slot == slot && occupant.joined)
      stays.push_back({{"machine", occupant.incarnation},
                       {"arrived", occupant.arrived()},
                       {"joined_s", occupant.joined->count()},
                       {"departed_s", seconds_json(occupant.departed)},
                       {"gone_s", seconds_json(occupant.gone)},
                       {"cause", occupant.cause}});
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
  if (!results.info.experiment.starts_again())
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

using CellOf = std::function<Cell(const json&)>;

CellOf both_at(const char* key, Unit unit) {
  return [=](const json& row) {
    const json& worlds = row.at(key);
    return Cell(
        both_worlds(number_or_nan(worlds.at("simulated")), number_or_nan(worlds.at("measured")), unit));
  };
}

Cell signed_number(const json& value, double beyond) {
  const double number = number_or_nan(value);
  if (std::isnan(number)) return Cell("-");
  return Cell((number > 0 ? "+" : "") + three_digits(number),
              std::abs(number) > beyond ? Cell::Mark::beyond : Cell::Mark::none);
}

std::vector<const json*> with_members(const json& document) {
  auto configurations = compared_configurations(document);
  std::erase_if(configurations, [](const json* own) { return !own->value("members", json()).is_object(); });
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

json members_of_run(const Results& results, const std::vector<int>& slots) {
  const auto occupants = occupants_of(results.journal);
  const double end_s = results.summary.at("makespan_s");
  json live = json::array(), shown = json::array();
  for (const auto& [time, workers] : live_workers(occupants)) live.push_back({time.count(), workers});
  for (const int slot : slots)
    shown.push_back(
        {{"slot", slot}, {"label", slot_label(results.info, slot)}, {"stays", stays_of(occupants, slot)}});
  return {{"end_s", end_s},
          {"live", std::move(live)},
          {"slots_left_out", ranks_of_slots(results.info).size() - slots.size()},
          {"slots", std::move(shown)},
          {"pauses", pauses_of(results, end_s)},
          {"launches", launch_spans(results.info.generations, end_s)}};
}

json members_of_result(const Results& results) {
  if (results.journal.membership.empty()) return nullptr;
  json members = members_of_run(results, shown_slots({&results}));
  json events = json::array();
  for (const auto& change : results.journal.membership) {
    if (events.size() == most_events) break;
    events.push_back({{"time_s", change.time.count()},
                      {"slot", change.slot},
                      {"machine", change.incarnation},
                      {"host", change.host},
                      {"event", change.event},
                      {"cause", change.cause},
                      {"epoch", change.epoch}});
  }
  members["events_left_out"] = results.journal.membership.size() - events.size();
  members["events"] = std::move(events);
  members["summary"] = summary_text(results);
  return members;
}

Table events_table(const json& members) {
  const auto slot = [](const json& row) {
    return row.at("slot") < 0 ? Cell("-") : Cell(row.at("slot").dump());
  };
  // A requested machine has no number yet.
  const auto machine = [](const json& row) {
    const bool is_of_job = row.at("slot") < 0 && row.at("host") == "";
    const bool has_none = is_of_job || row.at("event") == "requested" || row.at("event") == "refused";
    return has_none ? Cell("-") : Cell(row.at("machine").dump());
  };
  const auto text = [](const char* key) -> CellOf {
    return [key](const json& row) {
      const std::string value = row.at(key);
      return Cell(value.empty() ? "-" : value);
    };
  };
  const auto time = [](const json& row) { return Cell(with_unit(row.at("time_s"), Unit::seconds)); };
  const auto epoch = [](const json& row) { return Cell(row.at("epoch").dump()); };
  Table table = table_of(pointers_to(members.at("events")), {{"Time", time},
                                                             {"Slot", slot},
                                                             {"Machine", machine},
                                                             {"Host", text("host"), true},
                                                             {"Event", text("event"), true},
                                                             {"How", text("cause"), true},
                                                             {"Changes of members so far", epoch}});
  table.size = Table::Size::scrolling;
  return table;
}

json members_json(const std::optional<Members>& members) {
  if (!members) return nullptr;
  return {{"departures", member_worlds(members->departures)},
          {"arrivals", member_worlds(members->arrivals)},
          {"largest_shift_s", number_or_null(members->largest_shift())},
          {"noticed_after_s", member_worlds(members->mean(&ComparedOccupant::noticed_after))},
          {"gone_after_s", member_worlds(members->mean(&ComparedOccupant::gone_after))},
          {"lost_samples", member_worlds(members->lost_samples)},
          {"batch", members->batch},
          {"lost_per_departure", number_or_null(members->lost_per_departure())},
          {"lost_steps_per_departure", number_or_null(members->lost_steps_per_departure())},
          {"differences", members->differences},
          {"after_the_end", members->after_the_end}};
}

json members_detail(const Results& simulated, const Results& measured,
                    const std::optional<Members>& members) {
  if (!members) return nullptr;
  json occupants = json::array();
  for (const auto& own : members->occupants) {
    if (occupants.size() == most_occupants) break;
    occupants.push_back({{"slot", own.slot},
                         {"machine", own.incarnation},
                         {"host", own.host},
                         {"cause", own.cause},
                         {"joined_s", member_worlds(own.joined)},
                         {"departed_s", member_worlds(own.departed)},
                         {"noticed_after_s", member_worlds(own.noticed_after)},
                         {"gone_after_s", member_worlds(own.gone_after)}});
  }
  const auto slots = shown_slots({&simulated, &measured});
  const std::size_t left_out = members->occupants.size() - occupants.size();
  return {{"occupants", std::move(occupants)},
          {"occupants_left_out", left_out},
          {"simulated", members_of_run(simulated, slots)},
          {"measured", members_of_run(measured, slots)}};
}

json members_in_window(const Results& results, int slot, double begin, double length) {
  if (results.journal.membership.empty()) return nullptr;
  const auto occupants = occupants_of(results.journal);
  json absent = json::array(), marks = json::array();
  for (const auto& [from, to] : absences(occupants, slot, Seconds(begin + length))) {
    const double start = std::max(0.0, from.count() - begin), end = std::min(length, to.count() - begin);
    if (end > start) absent.push_back({start, end - start});
  }
  const auto mark = [&](const std::optional<Seconds>& time, const char* kind, const std::string& text) {
    if (time && time->count() >= begin && time->count() <= begin + length)
      marks.push_back({time->count() - begin, kind, text});
  };
  for (const auto& occupant : occupants) {
    if (occupant.slot != slot || !occupant.joined) continue;
    mark(occupant.joined, "joined", fmt::format("machine {} joined", occupant.incarnation));
    mark(occupant.departed, "departed",
         fmt::format("machine {} departed ({})", occupant.incarnation, occupant.cause));
  }
  return {{"absent", std::move(absent)}, {"marks", std::move(marks)}};
}

std::string members_text(const json& document) {
  const auto rows = with_members(document);
  if (rows.empty()) return "";
  std::size_t different = 0, count = 0;
  double sum = 0, worst = 0;
  std::string name;
  for (const json* configuration : rows) {
    const json& members = configuration->at("members");
    different += members.at("differences").empty() ? 0 : 1;
    const double steps = std::abs(number_or_nan(members.at("lost_steps_per_departure")));
    if (std::isnan(steps)) continue;
    ++count;
    sum += steps;
    if (steps >= worst) name = configuration->at("name");
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

Table members_table(const json& document) {
  const auto rows = with_members(document);
  const auto of_members = [](CellOf cell) -> CellOf {
    return [cell](const json& row) { return cell(row.at("members")); };
  };
  const auto shift = [](const json& members) {
    return Cell(with_unit(number_or_nan(members.at("largest_shift_s")), Unit::seconds));
  };
  const auto per_departure = [](const json& members) {
    return signed_number(members.at("lost_per_departure"), any);
  };
  const auto in_steps = [](const json& members) {
    return signed_number(members.at("lost_steps_per_departure"), most_steps);
  };
  const auto same = [](const json& members) {
    const std::size_t count = members.at("differences").size();
    return Cell(count == 0 ? "same" : fmt::format("{} differ", count),
                count == 0 ? Cell::Mark::none : Cell::Mark::beyond);
  };
  return table_of(rows,
                  {{"Configuration", [](const json& row) { return Cell(row.at("name").get<std::string>()); }},
                   {"Machines", of_members(same), true},
                   {"Departures", of_members(both_at("departures", Unit::count))},
                   {"Arrivals", of_members(both_at("arrivals", Unit::count))},
                   {"Largest shift", of_members(shift)},
                   {"Noticed after", of_members(both_at("noticed_after_s", Unit::seconds))},
                   {"Gone after", of_members(both_at("gone_after_s", Unit::seconds))},
                   {"Lost samples", of_members(both_at("lost_samples", Unit::count))},
                   {"Difference per departure", of_members(per_departure)},
                   {"in steps", of_members(in_steps)}});
}

Table occupants_table(const json& detail) {
  const auto plain = [](const char* key) -> CellOf {
    return [key](const json& row) { return Cell(row.at(key).dump()); };
  };
  const auto text = [](const char* key) -> CellOf {
    return [key](const json& row) {
      const std::string value = row.at(key);
      return Cell(value.empty() ? "-" : value);
    };
  };
  const auto shift = [](const json& row) {
    const json& times = row.at("departed_s");
    const double difference = number_or_nan(times.at("simulated")) - number_or_nan(times.at("measured"));
    return Cell(with_unit(difference, Unit::seconds));
  };
  Table table = table_of(pointers_to(detail.at("occupants")),
                         {{"Slot", plain("slot")},
                          {"Machine", plain("machine")},
                          {"Host", text("host"), true},
                          {"Joined: simulated / measured", both_at("joined_s", Unit::seconds)},
                          {"Departed", both_at("departed_s", Unit::seconds)},
                          {"Shift", shift},
                          {"How", text("cause"), true},
                          {"Noticed after", both_at("noticed_after_s", Unit::seconds)},
                          {"Gone after", both_at("gone_after_s", Unit::seconds)}});
  table.size = Table::Size::scrolling;
  return table;
}

std::vector<std::string> members_notes(const json& configuration) {
  constexpr std::size_t most = 12;
  std::vector<std::string> notes;
  const json members = configuration.value("members", json());
  if (!members.is_object()) return notes;
  const json& differences = members.at("differences");
  for (std::size_t i = 0; i < std::min(most, differences.size()); ++i) notes.push_back(differences[i]);
  if (differences.size() > most)
    notes.push_back(fmt::format("{} more differences", differences.size() - most));
  if (const int late = members.at("after_the_end"); late > 0)
    notes.push_back(fmt::format(
        "{} departure{} or arrival{} in only one of the two, after training had ended in the other", late,
        late == 1 ? "" : "s", late == 1 ? "" : "s"));
  return notes;
}

void add_members(const json& document, Page& page) {
  Table table = members_table(document);
  if (table.rows.empty()) return;
  page.add(
      Heading{2, "Departures and arrivals of machines"},
      Note{"Simulation and measurement draw the same lifetimes. Machines are numbered in each slot. Times: "
           "largest shift of a departure between the two; means from a departure until the job knew of it "
           "(noticed), and until its rank had given up all work (gone). Lost samples are those of steps "
           "whose result never reached a server; the difference is simulated - measured, and a step is "
           "one batch of a worker."},
      Note{members_text(document)}, std::move(table));
}

}  // namespace tandem::validation

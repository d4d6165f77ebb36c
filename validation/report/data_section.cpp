#include "validation/report/data_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using Part = std::optional<DataPart>;

/// A part of the data of a job, and its name.
struct PartName {
  Part DataParts::*part;
  const char* name;
};
constexpr PartName data_parts[] = {{&DataParts::cold, "cold epoch"}, {&DataParts::warm, "warm epochs"}};

/// A value of a part; none: not known.
using PartValue = std::function<std::optional<double>(const DataPart&)>;

std::optional<double> value_in(const Part& part, const PartValue& value) {
  return part ? value(*part) : std::nullopt;
}

std::string both_at(const Part& simulated, const Part& measured, const PartValue& value, Unit unit) {
  return both_worlds(value_or_nan(value_in(simulated, value)), value_or_nan(value_in(measured, value)), unit);
}

Cell both_shares(const Part& simulated, const Part& measured, const PartValue& value) {
  const auto ours = value_in(simulated, value), theirs = value_in(measured, value);
  if (!ours && !theirs) return "-";
  return percent(value_or_nan(ours)) + " / " + percent(value_or_nan(theirs));
}

/// A sum of a class; none where nothing came from there.
PartValue of_class(const std::string& from, double (*value)(const ClassSums&)) {
  return [=](const DataPart& part) -> std::optional<double> {
    const auto found = part.classes.find(from);
    return found == part.classes.end() ? std::nullopt : std::optional(value(found->second));
  };
}
double samples(const ClassSums& sums) { return static_cast<double>(sums.samples); }
double bytes(const ClassSums& sums) { return static_cast<double>(sums.bytes); }
double blocked_s(const ClassSums& sums) { return sums.blocked.count(); }

std::set<std::string> classes_in(const Part& one, const Part& other = {}) {
  std::set<std::string> names;
  for (const Part* part : {&one, &other})
    if (*part)
      for (const auto& [name, sum] : (*part)->classes) names.insert(name);
  return names;
}

}  // namespace

std::vector<DataEpoch> data_epochs(const DataFigures& data) {
  std::vector<DataEpoch> epochs;
  for (const EpochFigures& epoch : data.epochs) {
    if (epochs.size() == most_epochs) break;
    epochs.push_back({.epoch = epoch.epoch, .time_s = epoch.time_s, .classes = epoch.classes});
  }
  return epochs;
}

std::optional<DataParts> data_of_result(const Summary& summary) {
  if (!summary.data) return std::nullopt;
  return DataParts{summary.data->cold, summary.data->warm};
}

std::optional<Worlds<DataParts>> data_of_worlds(const Summary& simulated, const Summary& measured) {
  auto ours = data_of_result(simulated), theirs = data_of_result(measured);
  if (!ours || !theirs) return std::nullopt;
  return Worlds<DataParts>{std::move(*ours), std::move(*theirs)};
}

Table data_table(const Report& report) {
  Table table{.columns = {{"Configuration"},
                          {"Part", true},
                          {"Bytes from own tiers"},
                          {"at most"},
                          {"Belady"},
                          {"attained"},
                          {"Stall"},
                          {"Time per epoch"},
                          {"Blocked for the store"}}};
  const auto bound = [](const DataPart& part) {
    return part.bound ? std::optional(part.bound->byte_hit_ratio) : std::nullopt;
  };
  for (const auto* configuration : report.compared()) {
    if (!configuration->data) continue;
    for (const auto& [part, name] : data_parts) {
      const Part &simulated = configuration->data->simulated.*part,
                 &measured = configuration->data->measured.*part;
      if (!simulated && !measured) continue;
      const auto shares = [&](const PartValue& value) { return both_shares(simulated, measured, value); };
      table.rows.push_back(
          {{configuration->name, name, shares([](const DataPart& own) { return own.byte_hit_ratio; }),
            shares(bound), shares([](const DataPart& own) { return own.belady.byte_hit_ratio; }),
            shares([](const DataPart& own) { return own.belady.attained; }),
            shares([](const DataPart& own) { return own.stall; }),
            both_at(
                simulated, measured, [](const DataPart& own) { return own.epoch_time_s; }, Unit::seconds),
            both_at(simulated, measured, of_class("store", blocked_s), Unit::seconds)}});
    }
  }
  return table;
}

std::vector<std::string> missing_optima(const Report& report) {
  std::map<std::string, std::string> reasons;  // the configurations, by the reason
  for (const auto* configuration : report.compared()) {
    if (!configuration->data) continue;
    std::set<std::string> own;
    for (const auto& [part, name] : data_parts)
      for (const DataParts* world : {&configuration->data->simulated, &configuration->data->measured})
        if (const Part& known = world->*part; known && known->belady.missing)
          own.insert(*known->belady.missing);
    for (const std::string& why : own) {
      std::string& names = reasons[why];
      names += (names.empty() ? "" : ", ") + configuration->name;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [why, names] : reasons)
    lines.push_back("No figure of Belady: " + why + " (" + names + ").");
  return lines;
}

Table classes_table(const Worlds<DataParts>& data) {
  Table table{.columns = {{"Samples"}, {"From", true}, {"Number"}, {"Bytes"}, {"Blocked"}}};
  for (const auto& [part, name] : data_parts) {
    const Part &simulated = data.simulated.*part, &measured = data.measured.*part;
    for (const std::string& from : classes_in(simulated, measured)) {
      const auto both = [&](double (*value)(const ClassSums&), Unit unit) {
        return both_at(simulated, measured, of_class(from, value), unit);
      };
      table.rows.push_back({{name, from, both(samples, Unit::count), both(bytes, Unit::bytes),
                             both(blocked_s, Unit::seconds)}});
    }
  }
  return table;
}

Table classes_of_result(const DataParts& data) {
  Table table{.columns = {{"Samples"}, {"From", true}, {"Number"}, {"Share"}, {"Bytes"}, {"Blocked"}}};
  for (const auto& [part, name] : data_parts) {
    const Part& own = data.*part;
    if (!own) continue;
    for (const auto& [from, sums] : own->classes)
      table.rows.push_back(
          {{name, from, with_unit(samples(sums), Unit::count),
            percent(samples(sums) / static_cast<double>(own->requests)), with_unit(bytes(sums), Unit::bytes),
            with_unit(blocked_s(sums), Unit::seconds)}});
  }
  return table;
}

Table classes_of_study(const std::vector<DataOfStudy>& configurations) {
  std::vector<const DataPart*> parts;  // of the rows
  Table table{.columns = {{"Configuration"}, {"Part", true}}};
  std::set<std::string> names;
  for (const auto& [configuration, data] : configurations)
    for (const auto& [part, name] : data_parts) {
      const Part& own = data.*part;
      if (!own) continue;
      names.merge(classes_in(own));
      table.rows.push_back({{configuration, name}});
      parts.push_back(&*own);
    }
  for (const std::string& from : names) {
    table.columns.push_back({from});
    for (std::size_t row = 0; row < parts.size(); ++row) {
      const auto known = of_class(from, samples)(*parts[row]);
      table.rows[row].cells.emplace_back(known ? percent(*known / static_cast<double>(parts[row]->requests))
                                               : "-");
    }
  }
  return table;
}

void add_data(const Report& report, Page& page) {
  Table table = data_table(report);
  if (table.rows.empty()) return;
  page.add(
      Heading{2, "Samples from caches and stores, simulated / measured"},
      Note{"Cold: the first epoch, in which caches fill. Bytes from own tiers: of all bytes that a node "
           "delivered. At most: no policy can deliver more from the tiers, since what is in none of them "
           "when an epoch begins must be read. Belady: what the tiers could have delivered if the nodes had "
           "known the order of all requests; attained: the share of that. Stall: share of the steps that "
           "workers waited for batches. "
           "Blocked: how long batches waited at the nodes, counted for the place of their last sample."},
      std::move(table));
  if (auto missing = missing_optima(report); !missing.empty()) page.add(Bullets{std::move(missing)});
}

}  // namespace tandem::validation

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

using nlohmann::json;

constexpr std::pair<const char*, const char*> data_parts[] = {{"cold", "cold epoch"},
                                                              {"warm", "warm epochs"}};

/// Of both worlds; null for a part that one of them lacks.
std::pair<json, json> part_of(const json& data, const char* part) {
  return {data.at("simulated").at(part), data.at("measured").at(part)};
}

json data_value(const json& part, const std::string& place) {
  const json::json_pointer at(place);
  return part.is_object() && part.contains(at) ? part.at(at) : json();
}

Cell both_at(const json& simulated, const json& measured, const std::string& place, Unit unit) {
  return both_worlds(number_or_nan(data_value(simulated, place)), number_or_nan(data_value(measured, place)),
                     unit);
}

Cell both_shares(const json& simulated, const json& measured, const std::string& place) {
  const json ours = data_value(simulated, place), theirs = data_value(measured, place);
  if (!ours.is_number() && !theirs.is_number()) return "-";
  return percent(number_or_nan(ours)) + " / " + percent(number_or_nan(theirs));
}

std::set<std::string> classes_in(const json& one, const json& other) {
  std::set<std::string> names;
  for (const json* part : {&one, &other})
    if (part->is_object())
      for (const auto& [name, sum] : part->at("classes").items()) names.insert(name);
  return names;
}

}  // namespace

json data_epochs(const json& summary) {
  const json data = summary.value("data", json());
  if (!data.is_object()) return nullptr;
  json epochs = json::array();
  for (const json& epoch : data.at("epochs")) {
    if (epochs.size() == most_epochs) break;
    epochs.push_back(
        {{"epoch", epoch.at("epoch")}, {"time_s", epoch.at("time_s")}, {"classes", epoch.at("classes")}});
  }
  return epochs;
}

json data_of_result(const json& summary) {
  const json data = summary.value("data", json());
  if (!data.is_object()) return nullptr;
  return {{"cold", data.at("cold")}, {"warm", data.at("warm")}};
}

json data_of_worlds(const json& simulated, const json& measured) {
  json ours = data_of_result(simulated), theirs = data_of_result(measured);
  if (!ours.is_object() || !theirs.is_object()) return nullptr;
  return {{"simulated", std::move(ours)}, {"measured", std::move(theirs)}};
}

Table data_table(const json& document) {
  Table table{.columns = {{"Configuration"},
                          {"Part", true},
                          {"Bytes from own tiers"},
                          {"at most"},
                          {"Belady"},
                          {"attained"},
                          {"Stall"},
                          {"Time per epoch"},
                          {"Blocked for the store"}}};
  for (const json* configuration : compared_configurations(document)) {
    const json data = configuration->value("data", json());
    if (!data.is_object()) continue;
    for (const auto& [key, name] : data_parts) {
      const auto [simulated, measured] = part_of(data, key);
      if (!simulated.is_object() && !measured.is_object()) continue;
      table.rows.push_back(
          {{configuration->at("name").get<std::string>(), name,
            both_shares(simulated, measured, "/byte_hit_ratio"),
            both_shares(simulated, measured, "/bound/byte_hit_ratio"),
            both_shares(simulated, measured, "/belady/byte_hit_ratio"),
            both_shares(simulated, measured, "/belady/attained"), both_shares(simulated, measured, "/stall"),
            both_at(simulated, measured, "/epoch_time_s", Unit::seconds),
            both_at(simulated, measured, "/classes/store/blocked_s", Unit::seconds)}});
    }
  }
  return table;
}

std::vector<std::string> missing_optima(const json& document) {
  std::map<std::string, std::string> reasons;  // the configurations, by the reason
  for (const json* configuration : compared_configurations(document)) {
    const json data = configuration->value("data", json());
    if (!data.is_object()) continue;
    std::set<std::string> own;
    for (const auto& [key, name] : data_parts) {
      const auto [simulated, measured] = part_of(data, key);
      for (const json* part : {&simulated, &measured})
        if (const json why = data_value(*part, "/belady/missing"); why.is_string()) own.insert(why);
    }
    for (const std::string& why : own) {
      std::string& names = reasons[why];
      names += (names.empty() ? "" : ", ") + configuration->at("name").get<std::string>();
    }
  }
  std::vector<std::string> lines;
  for (const auto& [why, names] : reasons)
    lines.push_back("No figure of Belady: " + why + " (" + names + ").");
  return lines;
}

Table classes_table(const json& data) {
  Table table{.columns = {{"Samples"}, {"From", true}, {"Number"}, {"Bytes"}, {"Blocked"}}};
  for (const auto& [key, name] : data_parts) {
    const auto [simulated, measured] = part_of(data, key);
    for (const std::string& from : classes_in(simulated, measured)) {
      const std::string place = "/classes/" + from;
      table.rows.push_back({{name, from, both_at(simulated, measured, place + "/samples", Unit::count),
                             both_at(simulated, measured, place + "/bytes", Unit::bytes),
                             both_at(simulated, measured, place + "/blocked_s", Unit::seconds)}});
    }
  }
  return table;
}

Table classes_of_result(const json& data) {
  Table table{.columns = {{"Samples"}, {"From", true}, {"Number"}, {"Share"}, {"Bytes"}, {"Blocked"}}};
  for (const auto& [key, name] : data_parts) {
    const json& part = data.at(key);
    for (const std::string& from : classes_in(part, json())) {
      const json& sum = part.at("classes").at(from);
      table.rows.push_back(
          {{name, from, with_unit(sum.at("samples"), Unit::count),
            percent(sum.at("samples").get<double>() / part.at("requests").get<double>()),
            with_unit(sum.at("bytes"), Unit::bytes), with_unit(sum.at("blocked_s"), Unit::seconds)}});
    }
  }
  return table;
}

Table classes_of_study(const std::vector<const json*>& configurations) {
  std::vector<json> parts;  // of the rows
  Table table{.columns = {{"Configuration"}, {"Part", true}}};
  std::set<std::string> names;
  for (const json* configuration : configurations) {
    const json data = configuration->value("data", json());
    if (!data.is_object()) continue;
    for (const auto& [key, name] : data_parts) {
      const json& part = data.at(key);
      if (!part.is_object()) continue;
      names.merge(classes_in(part, json()));
      table.rows.push_back({{configuration->at("name").get<std::string>(), name}});
      parts.push_back(part);
    }
  }
  for (const std::string& from : names) {
    table.columns.push_back({from});
    for (std::size_t row = 0; row < parts.size(); ++row) {
      const json samples = data_value(parts[row], "/classes/" + from + "/samples");
      table.rows[row].cells.emplace_back(
          samples.is_number() ? percent(samples.get<double>() / parts[row].at("requests").get<double>())
                              : "-");
    }
  }
  return table;
}

void add_data(const json& document, Page& page) {
  Table table = data_table(document);
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
  if (auto missing = missing_optima(document); !missing.empty()) page.add(Bullets{std::move(missing)});
}

}  // namespace tandem::validation

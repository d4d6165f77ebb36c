#include "platforms/description_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

using nlohmann::json;

json host_to_json(const Host& host) {
  json disks = json::array();
  for (const auto& disk : host.disks)
    disks.push_back({{"name", disk.name},
                     {"read_bytes_per_second", disk.read_rate.count()},
                     {"write_bytes_per_second", disk.write_rate.count()},
                     {"properties", disk.properties}});
  json other_speeds = json::object();
  for (const auto& [precision, speed] : host.device.other_speeds)
    other_speeds[to_text(precision)] = speed.count();
  return {{"name", host.name},
          {"speed_flops_per_second", host.speed.count()},
          {"cores", host.cores},
          {"device",
           {{"name", host.device.name},
            {"speed_flops_per_second", host.device.speed.count()},
            {"memory_bytes_per_second", host.device.memory_rate.count()},
            {"launch_seconds", host.device.launch.count()},
            {"spread", host.device.spread},
            {"is_gpu", host.device.is_gpu},
            {"other_speeds", other_speeds},
            {"has_one_speed", host.device.has_one_speed},
            {"memory_bytes", host.device.memory ? json(host.device.memory->count()) : json()}}},
          {"gpu", host.gpu ? json(*host.gpu) : json()},
          {"disks", disks},
          {"properties", host.properties}};
}

Host host_from_json(const json& from) {
  Host host;
  host.name = from.at("name").get<std::string>();
  host.speed = FlopsPerSecond(from.at("speed_flops_per_second").get<double>());
  host.cores = from.at("cores").get<int>();
  const json& device = from.at("device");
  host.device = {device.at("name").get<std::string>(),
                 FlopsPerSecond(device.at("speed_flops_per_second").get<double>()),
                 BytesPerSecond(device.at("memory_bytes_per_second").get<double>()),
                 Seconds(device.at("launch_seconds").get<double>()), device.at("is_gpu").get<bool>()};
  host.device.spread = device.at("spread").get<double>();
  for (const auto& [name, speed] : device.at("other_speeds").items()) {
    const auto precision = parse_choice<Precision>(name);
    if (!precision) throw ConfigError("platform description: expected a precision, found '" + name + "'");
    host.device.other_speeds[*precision] = FlopsPerSecond(speed.get<double>());
  }
  host.device.has_one_speed = device.at("has_one_speed").get<bool>();
  if (const json& memory = device.at("memory_bytes"); !memory.is_null())
    host.device.memory = Bytes(memory.get<std::int64_t>());
  if (!from.at("gpu").is_null()) host.gpu = from.at("gpu").get<int>();
  for (const json& disk : from.at("disks"))
    host.disks.push_back({disk.at("name").get<std::string>(),
                          BytesPerSecond(disk.at("read_bytes_per_second").get<double>()),
                          BytesPerSecond(disk.at("write_bytes_per_second").get<double>()),
                          disk.at("properties").get<std::map<std::string, std::string>>()});
  host.properties = from.at("properties").get<std::map<std::string, std::string>>();
  return host;
}

json link_to_json(const Link& link) {
  return {{"name", link.name},
          {"bytes_per_second", link.bandwidth.count()},
          {"latency_seconds", link.latency.count()},
          {"sharing", link.sharing}};
}

Link link_from_json(const json& from) {
  return {from.at("name").get<std::string>(), BytesPerSecond(from.at("bytes_per_second").get<double>()),
          Seconds(from.at("latency_seconds").get<double>()), from.at("sharing").get<std::string>()};
}

// ---- Thousands that follow each other and differ in their names alone ----

/// So many are one object with a list of names.
constexpr std::size_t least_listed = 2048;

/// The last digits of a name are a number: "node-", 7, "-a".
struct NumberedName {
  std::string before;
  long long number;
  std::string after;
};
std::optional<NumberedName> numbered(const std::string& name) {
  constexpr const char* digits = "0123456789";
  constexpr std::size_t most_digits = 9;
  const std::size_t last = name.find_last_of(digits);
  if (last == std::string::npos) return std::nullopt;
  const std::size_t other = name.find_last_not_of(digits, last);
  const std::size_t first = other == std::string::npos ? 0 : other + 1, count = last + 1 - first;
  if (count > most_digits || (count > 1 && name[first] == '0')) return std::nullopt;
  return NumberedName{name.substr(0, first), std::stoll(name.substr(first, count)), name.substr(last + 1)};
}

/// Texts, and ["node-", 0, 99, ""] for node-0 to node-99.
template <class Item>
json names_to_json(std::span<const Item> items) {
  json names = json::array();
  std::optional<NumberedName> before;
  for (const Item& item : items) {
    auto own = numbered(item.name);
    const bool follows = own && before && own->before == before->before && own->after == before->after &&
                         own->number == before->number + 1;
    if (follows)
      names.back()[2] = own->number;
    else if (own)
      names.push_back({own->before, own->number, own->number, own->after});
    else
      names.push_back(item.name);
    before = std::move(own);
  }
  return names;
}

std::vector<std::string> names_from_json(const json& from) {
  std::vector<std::string> names;
  for (const json& entry : from) {
    if (entry.is_string()) {
      names.push_back(entry.get<std::string>());
      continue;
    }
    const auto before = entry.at(0).get<std::string>(), after = entry.at(3).get<std::string>();
    for (auto number = entry.at(1).get<long long>(); number <= entry.at(2).get<long long>(); ++number)
      names.push_back(before + std::to_string(number) + after);
  }
  return names;
}

template <class Item>
json items_to_json(const std::vector<Item>& items, json (*one_to_json)(const Item&)) {
  json all = json::array();
  for (auto first = items.begin(); first != items.end();) {
    const auto end =
        std::find_if(first + 1, items.end(), [&](const Item& item) { return !alike(*first, item); });
    const std::span<const Item> run(first, end);
    const std::size_t listed = run.size() < least_listed ? run.size() : 1;
    for (const Item& item : run.first(listed)) all.push_back(one_to_json(item));
    if (listed < run.size()) all.back()["names"] = names_to_json(run);
    first = end;
  }
  return all;
}

template <class Item>
std::vector<Item> items_from_json(const json& from, Item (*one_from_json)(const json&)) {
  std::vector<Item> items;
  for (const json& one : from) {
    Item item = one_from_json(one);
    if (!one.contains("names")) {
      items.push_back(std::move(item));
      continue;
    }
    for (std::string& name : names_from_json(one.at("names"))) {
      items.push_back(item);
      items.back().name = std::move(name);
    }
  }
  return items;
}

}  // namespace

json to_json(const Description& description) {
  return {{"file", description.file},
          {"hosts", items_to_json(description.hosts, host_to_json)},
          {"links", items_to_json(description.links, link_to_json)},
          {"config", description.config}};
}

Description description_from_json(const json& from) {
  try {
    Description description;
    description.file = from.at("file").get<std::string>();
    description.hosts = items_from_json(from.at("hosts"), host_from_json);
    description.links = items_from_json(from.at("links"), link_from_json);
    description.config = from.at("config").get<std::map<std::string, std::string>>();
    return description;
  } catch (const json::exception& error) {
    throw ConfigError(std::string("platform description: ") + error.what());
  }
}

}  // namespace tandem::platforms

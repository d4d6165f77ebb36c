#include "runtime/machines/placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "runtime/machines/name_lists.hpp"

namespace tandem::machines {
namespace {

const Machine* find(const std::vector<Machine>& machines, const std::string& name) {
  const auto found = std::ranges::find(machines, name, &Machine::name);
  return found == machines.end() ? nullptr : &*found;
}

void check_mapping(const PlacementRequest& request) {
  for (const Mapped& mapped : request.mapping)
    if (find(request.machines, mapped.machine) == nullptr)
      throw ConfigError(fmt::format(
          "--map {}={}: expected one of the machines ({}), found '{}'", mapped.host, mapped.machine,
          fmt::join(request.machines | std::views::transform(&Machine::name), ", "), mapped.machine));
}

std::string table_of(const PlacementRequest& request, const std::vector<std::string>& of_rank) {
  std::string table =
      fmt::format("  {:>4}  {:<12} {:<24} {}\n", "rank", "role", "host of the platform", "machine");
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank)
    table += fmt::format("  {:>4}  {:<12} {:<24} {}\n", rank, request.ranks[rank].role,
                         request.ranks[rank].host, of_rank[rank].empty() ? "none" : of_rank[rank]);
  std::string machines;
  for (const Machine& machine : request.machines)
    machines += fmt::format("{}{}{}", machines.empty() ? "" : ", ", machine.name,
                            machine.slots ? fmt::format(" ({} slots)", *machine.slots) : "");
  return table + "  machines: " + machines;
}

[[noreturn]] void refuse_entry(const std::string& entry) {
  throw ConfigError(
      fmt::format("--map: expected HOST=MACHINE, HOST=MACHINE:GPU, lists of them such as node-[0-7]=a:[0-7], "
                  "or auto, found '{}'",
                  entry));
}

/// "a" or "a:0". `entry`: for errors.
Mapped parse_machine(const std::string& text, const std::string& entry) {
  Mapped mapped{.host = {}, .machine = text};
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return mapped;
  const auto number = parse_number<int>(text.substr(colon + 1), 0, 1000);
  if (!number || colon == 0) refuse_entry(entry);
  mapped.machine.resize(colon);
  mapped.gpu = *number;
  return mapped;
}

std::vector<Mapped> parse_entry(const std::string& entry) {
  const auto equals = entry.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == entry.size()) refuse_entry(entry);
  const auto hosts = names_in(entry.substr(0, equals), "--map");
  const auto machines = names_in(entry.substr(equals + 1), "--map");
  if (machines.size() != 1 && machines.size() != hosts.size())
    throw ConfigError(fmt::format(
        "--map {}: expected one machine for all, or one for each of the {} hosts, found {} machines", entry,
        hosts.size(), machines.size()));
  std::vector<Mapped> all;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    all.push_back(parse_machine(machines[machines.size() == 1 ? 0 : i], entry));
    all.back().host = hosts[i];
  }
  return all;
}

}  // namespace

Mapping parse_mapping(const std::vector<std::string>& entries) {
  Mapping mapping;
  std::set<std::string> known;
  for (const std::string& entry : entries) {
    if (entry == "auto") {
      mapping.is_auto = true;
      continue;
    }
    for (Mapped& mapped : parse_entry(entry)) {
      if (!known.insert(mapped.host).second)
        throw ConfigError(
            fmt::format("--map {}: expected each host once, found '{}' again", entry, mapped.host));
      mapping.hosts.push_back(std::move(mapped));
    }
  }
  return mapping;
}

std::vector<MappingEntry> mapping_entries(const std::vector<Mapped>& hosts) {
  struct Lists {
    std::vector<std::string> hosts, machines;
  };
  std::vector<std::pair<std::string, bool>> order;  // a machine, and whether its hosts have numbers of GPUs
  std::map<std::pair<std::string, bool>, Lists> lists;
  for (const Mapped& mapped : hosts) {
    const auto key = std::pair(mapped.machine, mapped.gpu.has_value());
    if (!lists.contains(key)) order.push_back(key);
    auto& [names, machines] = lists[key];
    names.push_back(mapped.host);
    if (mapped.gpu) machines.push_back(fmt::format("{}:{}", mapped.machine, *mapped.gpu));
  }
  std::vector<MappingEntry> entries;
  for (const auto& key : order) {
    const auto& [names, machines] = lists[key];
    entries.push_back({list_of(names), machines.empty() ? key.first : list_of(machines)});
  }
  return entries;
}

std::string named_machine(const std::string& host, const PlacementRequest& request) {
  if (const auto mapped = std::ranges::find(request.mapping, host, &Mapped::host);
      mapped != request.mapping.end())
    return mapped->machine;
  if (const auto address = request.addresses.find(host); address != request.addresses.end())
    return find(request.machines, address->second) != nullptr ? address->second : "";
  return find(request.machines, host) != nullptr ? host : "";
}

std::vector<std::string> place(const PlacementRequest& request) {
  check_mapping(request);
  std::vector<std::string> of_rank;
  for (const PlacedRank& rank : request.ranks) {
    of_rank.push_back(named_machine(rank.host, request));
    if (of_rank.back().empty() && request.machines.size() == 1 && !request.addresses.contains(rank.host))
      of_rank.back() = request.machines.front().name;
  }
  if (const auto without = std::ranges::find(of_rank, ""); without != of_rank.end()) {
    const auto& host = request.ranks[static_cast<std::size_t>(without - of_rank.begin())].host;
    throw ConfigError(
        fmt::format("host '{}' of the platform is none of the machines: name it with --map {}=MACHINE or "
                    "by its property tandem:address, or let --map auto choose\n{}",
                    host, host, table_of(request, of_rank)));
  }
  for (const Machine& machine : request.machines) {
    const auto ranks = std::ranges::count(of_rank, machine.name);
    if (machine.slots && ranks > *machine.slots)
      throw ConfigError(fmt::format(
          "machine '{}': expected at most its {} slots, found {} ranks; give it more slots, or place "
          "roles on other machines with --map\n{}",
          machine.name, *machine.slots, ranks, table_of(request, of_rank)));
  }
  return of_rank;
}

}  // namespace tandem::machines

#include "runtime/machines/placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <ranges>

#include "policies/vocabulary/check.hpp"

namespace tandem::machines {
namespace {

const Machine* find(const std::vector<Machine>& machines, const std::string& name) {
  const auto found = std::ranges::find(machines, name, &Machine::name);
  return found == machines.end() ? nullptr : &*found;
}

/// Empty: none of the machines.
std::string machine_of(const std::string& host, const PlacementRequest& request) {
  for (const Mapped& mapped : request.mapping)
    if (mapped.host == host) return mapped.machine;
  if (const auto address = request.addresses.find(host); address != request.addresses.end())
    return find(request.machines, address->second) != nullptr ? address->second : "";
  if (find(request.machines, host) != nullptr) return host;
  return request.machines.size() == 1 ? request.machines.front().name : "";
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

}  // namespace

Mapped parse_mapping(const std::string& text) {
  const auto equals = text.rfind('=');
  const auto refuse = [&]() -> void {
    throw ConfigError("--map: expected HOST=MACHINE or HOST=MACHINE:GPU, found '" + text + "'");
  };
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) refuse();
  Mapped mapped{text.substr(0, equals), text.substr(equals + 1), {}};
  const auto colon = mapped.machine.rfind(':');
  if (colon == std::string::npos) return mapped;
  const std::string gpu = mapped.machine.substr(colon + 1);
  int number = -1;
  const auto [rest, error] = std::from_chars(gpu.data(), gpu.data() + gpu.size(), number);
  if (error != std::errc() || rest != gpu.data() + gpu.size() || number < 0 || number > 1000 || colon == 0)
    refuse();
  mapped.machine.resize(colon);
  mapped.gpu = number;
  return mapped;
}

std::vector<std::string> place(const PlacementRequest& request) {
  check_mapping(request);
  std::vector<std::string> of_rank;
  for (const PlacedRank& rank : request.ranks) of_rank.push_back(machine_of(rank.host, request));
  if (const auto without = std::ranges::find(of_rank, ""); without != of_rank.end()) {
    const auto& host = request.ranks[static_cast<std::size_t>(without - of_rank.begin())].host;
    throw ConfigError(
        fmt::format("host '{}' of the platform is none of the machines: name it with --map {}=MACHINE, or "
                    "by its property tandem:address\n{}",
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

#include "runtime/machines/machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "runtime/machines/name_lists.hpp"

namespace tandem::machines {
namespace {

constexpr int most_slots = 100'000;
constexpr int most_gpus = 1000;

/// `where`: "--hosts" or "file:line".
void add(std::vector<Machine>& machines, const std::string& where, const std::string& name,
         const std::string& slots) {
  if (name.empty() || name.find_first_of(" \t'\"\\$;&|<>()") != std::string::npos || name.starts_with('-'))
    throw ConfigError(fmt::format("{}: expected the name or address of a machine, found '{}'", where, name));
  if (std::ranges::find(machines, name, &Machine::name) != machines.end())
    throw ConfigError(fmt::format("{}: expected each machine once, found '{}' again", where, name));
  Machine machine{.name = name};
  if (!slots.empty()) {
    machine.slots = parse_number<int>(slots, 1, most_slots);
    if (!machine.slots)
      throw ConfigError(fmt::format("{}: machine '{}': expected a number of ranks from 1 to {}, found '{}'",
                                    where, name, most_slots, slots));
  }
  machines.push_back(std::move(machine));
}

/// "2(x3),1" to 2 2 2 1.
std::vector<std::string> expand_tasks(const std::string& text) {
  std::vector<std::string> counts;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto open = part.find("(x");
    const std::string count = part.substr(0, open);
    int times = 1;
    if (open != std::string::npos) {
      const auto given = parse_number<int>(part.substr(open + 2, part.size() - open - 3), 1, most_slots);
      if (!given || part.back() != ')')
        throw ConfigError("SLURM_TASKS_PER_NODE: expected 2(x3),1, found '" + text + "'");
      times = *given;
    }
    counts.insert(counts.end(), static_cast<std::size_t>(times), count);
  }
  return counts;
}

/// "4", "h200:4" and "a100:2,v100:2" are four; none: the text is empty.
std::optional<int> sum_of_gpus(const std::string& text) {
  if (text.empty()) return std::nullopt;
  int sum = 0;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto count = parse_number<int>(part.substr(part.rfind(':') + 1), 0, most_gpus);
    if (!count) throw ConfigError("SLURM_GPUS_PER_NODE: expected 4 or h200:4, found '" + text + "'");
    sum += *count;
  }
  return sum;
}

}  // namespace

std::vector<Machine> parse_host_list(const std::string& text) {
  std::vector<Machine> machines;
  for (const std::string& part : names_in(text, "--hosts")) {
    const auto colon = part.find(':');
    if (colon != std::string::npos && colon + 1 == part.size())
      throw ConfigError("--hosts: machine '" + part.substr(0, colon) +
                        "': expected a number of ranks after ':'");
    add(machines, "--hosts", part.substr(0, colon), colon == std::string::npos ? "" : part.substr(colon + 1));
  }
  return machines;
}

std::vector<Machine> read_hostfile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw ConfigError(path + ": expected a file of machines (--hostfile), found no such file");
  std::vector<Machine> machines;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string where = fmt::format("{}:{}", path, number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, slots;
    if (!(words >> name)) continue;
    for (std::string word; words >> word;) {
      // Open MPI has both; the second says how many may be oversubscribed.
      if (word.starts_with("slots="))
        slots = word.substr(6);
      else if (!word.starts_with("max_slots=") && !word.starts_with("max-slots="))
        throw ConfigError(
            fmt::format("{}: expected slots=NUMBER after the machine, found '{}'", where, word));
    }
    add(machines, where, name, slots);
  }
  if (machines.empty()) throw ConfigError(path + ": expected a machine per line, found none");
  return machines;
}

std::vector<Machine> slurm_machines(const std::string& nodes, const std::string& tasks,
                                    const std::string& gpus) {
  const auto names = names_in(nodes, "SLURM_JOB_NODELIST");
  const auto counts = expand_tasks(tasks);
  if (!counts.empty() && counts.size() != names.size())
    throw ConfigError(
        fmt::format("SLURM_TASKS_PER_NODE: expected as many as the {} nodes of SLURM_JOB_NODELIST, found {}",
                    names.size(), counts.size()));
  const auto gpus_each = sum_of_gpus(gpus);
  std::vector<Machine> machines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    add(machines, "SLURM_JOB_NODELIST", names[i], counts.empty() ? "" : counts[i]);
    machines.back().gpus = gpus_each;
  }
  return machines;
}

std::optional<std::vector<Machine>> allocation_of_environment() {
  const auto value = [](const char* variable) {
    const char* const text = std::getenv(variable);
    return std::string(text == nullptr ? "" : text);
  };
  if (std::getenv("SLURM_JOB_NODELIST") == nullptr) return std::nullopt;
  return slurm_machines(value("SLURM_JOB_NODELIST"), value("SLURM_TASKS_PER_NODE"),
                        value("SLURM_GPUS_PER_NODE"));
}

}  // namespace tandem::machines

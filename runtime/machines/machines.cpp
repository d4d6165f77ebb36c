#include "runtime/machines/machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "policies/vocabulary/check.hpp"

namespace tandem::machines {
namespace {

constexpr int most_slots = 100'000;

std::optional<int> number_in(const std::string& text, int least, int most) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value < least || value > most) return {};
  return value;
}

/// `where`: "--hosts" or "file:line".
void add(std::vector<Machine>& machines, const std::string& where, const std::string& name,
         const std::string& slots) {
  if (name.empty() || name.find_first_of(" \t'\"\\$;&|<>()") != std::string::npos || name.starts_with('-'))
    throw ConfigError(fmt::format("{}: expected the name or address of a machine, found '{}'", where, name));
  if (std::ranges::find(machines, name, &Machine::name) != machines.end())
    throw ConfigError(fmt::format("{}: expected each machine once, found '{}' again", where, name));
  Machine machine{name, {}};
  if (!slots.empty()) {
    machine.slots = number_in(slots, 1, most_slots);
    if (!machine.slots)
      throw ConfigError(fmt::format("{}: machine '{}': expected a number of ranks from 1 to {}, found '{}'",
                                    where, name, most_slots, slots));
  }
  machines.push_back(std::move(machine));
}

/// At the separators outside brackets.
std::vector<std::string> parts_of_list(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char letter : text) {
    depth += letter == '[' ? 1 : letter == ']' ? -1 : 0;
    if (letter == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return parts;
}

[[noreturn]] void refuse_nodes(const std::string& text) {
  throw ConfigError("SLURM_JOB_NODELIST: expected names such as n[1-3,07],m, found '" + text + "'");
}

/// "n[1-3,07]" to n1 n2 n3 n07: numbers are as wide as their first one.
void expand(const std::string& part, std::vector<std::string>& names) {
  const auto open = part.find('[');
  if (open == std::string::npos) {
    if (part.empty()) refuse_nodes(part);
    names.push_back(part);
    return;
  }
  const auto close = part.find(']', open);
  if (close == std::string::npos) refuse_nodes(part);
  const std::string before = part.substr(0, open), after = part.substr(close + 1);
  std::istringstream ranges(part.substr(open + 1, close - open - 1));
  for (std::string range; std::getline(ranges, range, ',');) {
    const auto dash = range.find('-');
    const std::string first = range.substr(0, dash);
    const auto low = number_in(first, 0, most_slots);
    const auto high = dash == std::string::npos ? low : number_in(range.substr(dash + 1), 0, most_slots);
    if (!low || !high || *high < *low) refuse_nodes(part);
    for (int i = *low; i <= *high; ++i)
      expand(fmt::format("{}{:0{}}{}", before, i, first.size(), after), names);
  }
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
      const auto given = number_in(part.substr(open + 2, part.size() - open - 3), 1, most_slots);
      if (!given || part.back() != ')')
        throw ConfigError("SLURM_TASKS_PER_NODE: expected 2(x3),1, found '" + text + "'");
      times = *given;
    }
    counts.insert(counts.end(), static_cast<std::size_t>(times), count);
  }
  return counts;
}

}  // namespace

std::vector<Machine> parse_host_list(const std::string& text) {
  std::vector<Machine> machines;
  for (const std::string& part : parts_of_list(text)) {
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

std::vector<Machine> slurm_machines(const std::string& nodes, const std::string& tasks) {
  std::vector<std::string> names;
  for (const std::string& part : parts_of_list(nodes)) expand(part, names);
  const auto counts = expand_tasks(tasks);
  if (!counts.empty() && counts.size() != names.size())
    throw ConfigError(
        fmt::format("SLURM_TASKS_PER_NODE: expected as many as the {} nodes of SLURM_JOB_NODELIST, found {}",
                    names.size(), counts.size()));
  std::vector<Machine> machines;
  for (std::size_t i = 0; i < names.size(); ++i)
    add(machines, "SLURM_JOB_NODELIST", names[i], counts.empty() ? "" : counts[i]);
  return machines;
}

std::optional<std::vector<Machine>> allocation_of_environment() {
  const char* const nodes = std::getenv("SLURM_JOB_NODELIST");
  if (nodes == nullptr) return std::nullopt;
  const char* const tasks = std::getenv("SLURM_TASKS_PER_NODE");
  return slurm_machines(nodes, tasks == nullptr ? "" : tasks);
}

}  // namespace tandem::machines

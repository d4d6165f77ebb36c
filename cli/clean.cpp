// `tandem clean`: removes what jobs leave on this machine when they are killed.
#include "cli/clean.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/cluster/cluster.hpp"
#include "runtime/process/shared_memory.hpp"

namespace tandem::cli {
namespace {

struct Leftovers {
  std::vector<std::filesystem::path> memory;
  std::vector<std::string> clusters;

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& file : memory) all.push_back("shared memory " + file.string());
    for (const auto& id : clusters) all.push_back("emulated cluster '" + id + "'");
    return all;
  }
};

Leftovers find_leftovers() {
  Leftovers found{.memory = abandoned_shared_memory(), .clusters = {}};
  // Only root can remove clusters.
  if (geteuid() == 0) found.clusters = cluster::abandoned_clusters();
  return found;
}

/// Null: removed. Otherwise why not.
std::optional<std::string> failure_of(const std::function<void()>& removal) {
  try {
    removal();
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::nullopt;
}

/// Returns whether everything could be removed.
bool remove(const Leftovers& found, const std::function<void(const std::string&)>& removed) {
  bool all = true;
  const auto names = found.names();
  const auto take = [&](const std::string& name, const std::function<void()>& removal) {
    const auto failure = failure_of(removal);
    if (failure) print_error(fmt::format("cannot remove {}: {}", name, *failure));
    if (failure) all = false;
    if (!failure) removed(name);
  };
  for (std::size_t i = 0; i < found.memory.size(); ++i)
    take(names[i], [&] { std::filesystem::remove(found.memory[i]); });
  for (std::size_t i = 0; i < found.clusters.size(); ++i)
    take(names[found.memory.size() + i], [&] {
      const cluster::ClusterLock unused(found.clusters[i]);
      cluster::take_down(found.clusters[i]);
    });
  return all;
}

int clean(bool dry_run) {
  const Leftovers found = find_leftovers();
  if (found.names().empty()) fmt::print("nothing is left over from killed jobs\n");
  if (dry_run) {
    for (const auto& name : found.names()) fmt::print("would remove {}\n", name);
    print_document({{"removed", nlohmann::json::array()}, {"left", found.names()}});
    return exit_success;
  }
  std::vector<std::string> removed;
  const bool all = remove(found, [&removed](const std::string& name) {
    fmt::print("removed {}\n", name);
    removed.push_back(name);
  });
  std::vector<std::string> left;
  for (const auto& name : found.names())
    if (std::ranges::find(removed, name) == removed.end()) left.push_back(name);
  print_document({{"removed", removed}, {"left", left}});
  return all ? exit_success : exit_environment_error;
}

}  // namespace

void remove_leftovers() {
  std::vector<std::string> removed;
  remove(find_leftovers(), [&removed](const std::string& name) { removed.push_back(name); });
  if (removed.empty()) return;
  const std::string others = removed.size() == 1 ? "" : fmt::format(" and {} more", removed.size() - 1);
  print_note(fmt::format("removed what killed jobs left: {}{}", removed.front(), others));
}

void add_clean(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "clean", "Remove what killed jobs left on this machine: shared memory, temporary emulated clusters");
  const auto dry_run = std::make_shared<bool>(false);
  command->add_flag("--dry-run", *dry_run, "Only list it");
  command->footer(
      "Removes files of Open MPI in /dev/shm that belong to this user and that no living process uses, and\n"
      "emulated clusters of jobs that have died. The next `tandem run` does the same. Examples:\n"
      "  tandem clean --dry-run\n"
      "  tandem clean");
  command->callback([dry_run, &exit_code] { exit_code = clean(*dry_run); });
}

}  // namespace tandem::cli

#include "cli/machines/leftovers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/cluster/cluster.hpp"
#include "runtime/process/commit_memory.hpp"
#include "runtime/process/mpi_sessions.hpp"
#include "runtime/process/shared_memory.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

struct Leftover {
  std::string name;
  std::function<void()> remove;  ///< Errors: std::exception saying why it stays
};

void remove_cluster(const std::string& id) {
  const cluster::ClusterLock unused(id);
  cluster::take_down(id);
}

void remove_results(const fs::path& directory) {
  const WriteLock lock = create_result_directory(directory.string(), true);
  fs::remove_all(directory);
}

std::vector<Leftover> find_leftovers() {
  std::vector<Leftover> found;
  for (const auto& file : abandoned_shared_memory())
    found.push_back({"shared memory " + file.string(), [file] { fs::remove(file); }});
  for (const auto& session : abandoned_mpi_sessions())
    found.push_back({"session of Open MPI " + session.string(), [session] { remove_mpi_session(session); }});
  // Only root can remove clusters.
  if (geteuid() == 0)
    for (const auto& id : cluster::abandoned_clusters())
      found.push_back({"emulated cluster '" + id + "'", [id] { remove_cluster(id); }});
  return found;
}

/// Commits that could not be saved are data, and removed only on request.
void add_commits(std::vector<Leftover>& found) {
  for (const auto& folder : abandoned_commit_memory())
    found.push_back({"commits in memory " + folder.string(), [folder] { fs::remove_all(folder); }});
}

/// A job or suite that was killed has left it incomplete, and no process writes into it.
bool is_abandoned_result(const fs::path& path) {
  if (!fs::is_directory(path) || !is_incomplete_result_directory(path.string())) return false;
  try {
    expect_not_written(path.string());
  } catch (const ConfigError&) {
    return false;
  }
  return true;
}

/// `folder` itself or directories below it; none inside another one.
std::vector<Leftover> find_results(const std::string& folder) {
  if (!fs::is_directory(folder))
    throw ConfigError("clean: --results " + folder + ": expected a directory, found none");
  std::vector<Leftover> found;
  const auto add = [&found](const fs::path& path) {
    const bool abandoned = is_abandoned_result(path);
    if (abandoned) found.push_back({"incomplete results " + path.string(), [path] { remove_results(path); }});
    return abandoned;
  };
  if (add(folder)) return found;
  const auto skip = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(folder, skip); entry != fs::end(entry); ++entry)
    if (!entry->is_symlink() && add(entry->path())) entry.disable_recursion_pending();
  return found;
}

struct Cleaned {
  std::vector<std::string> removed;
  std::vector<std::string> left;  ///< and why was printed
};

Cleaned remove_all(const std::vector<Leftover>& found) {
  Cleaned cleaned;
  for (const auto& leftover : found) {
    try {
      leftover.remove();
      cleaned.removed.push_back(leftover.name);
    } catch (const std::exception& error) {
      print_error(fmt::format("cannot remove {}: {}", leftover.name, error.what()));
      cleaned.left.push_back(leftover.name);
    }
  }
  return cleaned;
}

}  // namespace

int clean(const CleanOptions& options) {
  std::vector<Leftover> found = find_leftovers();
  add_commits(found);
  if (!options.results.empty()) {
    auto results = find_results(options.results);
    found.insert(found.end(), std::make_move_iterator(results.begin()),
                 std::make_move_iterator(results.end()));
  }
  Cleaned cleaned;
  if (options.dry_run)
    for (const auto& leftover : found) cleaned.left.push_back(leftover.name);
  else
    cleaned = remove_all(found);
  if (found.empty()) fmt::print("nothing is left over from killed jobs\n");
  for (const auto& name : cleaned.removed) fmt::print("removed {}\n", name);
  if (options.dry_run)
    for (const auto& name : cleaned.left) fmt::print("would remove {}\n", name);
  print_document({{"removed", cleaned.removed}, {"left", cleaned.left}});
  return options.dry_run || cleaned.left.empty() ? exit_success : exit_environment_error;
}

void remove_leftovers(bool reports) {
  const auto removed = remove_all(find_leftovers()).removed;
  if (removed.empty() || !reports) return;
  const std::string others = removed.size() == 1 ? "" : fmt::format(" and {} more", removed.size() - 1);
  print_note(fmt::format("removed what killed jobs left: {}{}", removed.front(), others));
}

}  // namespace tandem::cli

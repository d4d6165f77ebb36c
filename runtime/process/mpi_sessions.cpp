#include "runtime/process/mpi_sessions.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "policies/vocabulary/text_parts.hpp"
#include "runtime/process/process_list.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

bool is_own_directory(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/// The number after `prefix`, if the name is nothing else.
std::optional<pid_t> number_after(const std::string& prefix, const std::string& name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parse_number<pid_t>(name.substr(prefix.size()));
  return number && *number > 0 ? number : std::nullopt;
}

/// HOST of "ompi.HOST.USER", if it is this user's and its processes can be seen.
bool is_of_visible_host(const std::string& name) {
  const std::string prefix = "ompi.", suffix = fmt::format(".{}", geteuid());
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return false;
  return sees_processes_of(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
}

/// The processes that a session names: mpirun by the name of its directory, a daemon by the names of the
/// files that it shares with its ranks.
std::vector<pid_t> makers_of(const fs::path& session) {
  std::vector<pid_t> makers;
  const auto add = [&makers](const std::optional<pid_t>& process) {
    if (process) makers.push_back(*process);
  };
  add(number_after("pid.", session.filename()));
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(session, ignored))
    for (const char* prefix : {"pmix_dstor_ds12_", "pmix_dstor_ds21_"})
      add(number_after(prefix, entry.path().filename()));
  return makers;
}

}  // namespace

std::vector<fs::path> abandoned_mpi_sessions(const fs::path& folder) {
  std::vector<fs::path> abandoned;
  std::error_code ignored;
  for (const auto& host : fs::directory_iterator(folder, ignored)) {
    if (!is_of_visible_host(host.path().filename()) || !is_own_directory(host.path())) continue;
    for (const auto& session : fs::directory_iterator(host.path(), ignored)) {
      if (!is_own_directory(session.path())) continue;
      const auto makers = makers_of(session.path());
      const bool dead =
          std::ranges::all_of(makers, [](pid_t maker) { return process_identity(maker).empty(); });
      if (!makers.empty() && dead) abandoned.push_back(session.path());
    }
  }
  std::ranges::sort(abandoned);
  return abandoned;
}

void remove_mpi_session(const fs::path& session) {
  fs::remove_all(session);
  // Fails while other sessions of the host are in it.
  rmdir(session.parent_path().c_str());
}

}  // namespace tandem

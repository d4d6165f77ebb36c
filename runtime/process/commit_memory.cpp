#include "runtime/process/commit_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/process/process_list.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_begin = "tandem_commits.";

/// Named after the process whose end is its own.
fs::path folder_of(pid_t process) {
  return fs::path(shared_memory_folder) / fmt::format("{}{}", name_begin, process_identity(process));
}

/// Absolute, and without links in the folders above it: the same path, whichever way leads to it.
fs::path place_of(const fs::path& link) {
  const fs::path absolute = fs::absolute(link);
  return fs::weakly_canonical(absolute.parent_path()) / absolute.filename();
}

/// Waits for one who only looks whether it is locked.
Descriptor locked(const fs::path& folder) {
  Descriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.is_open() || flock(lock.number(), LOCK_EX) != 0)
    throw WorldError(fmt::format("commits cannot be kept in memory, folder '{}': {}", folder.string(),
                                 std::generic_category().message(errno)));
  return lock;
}

bool is_locked(const fs::path& folder) {
  const Descriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return lock.is_open() && flock(lock.number(), LOCK_EX | LOCK_NB) != 0;
}

fs::path make_folder(fs::path folder, const fs::path& link) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  if (!error) fs::remove_all(link, error);
  if (!error) fs::create_directory_symlink(folder, link, error);
  if (error)
    throw WorldError(
        fmt::format("commits cannot be kept in memory, folder '{}': {}", folder.string(), error.message()));
  return folder;
}

fs::path copy_of(const fs::path& link) { return link.string() + ".copy"; }

/// So that at any time one of both is there; where the file system cannot do that, almost.
void exchange(const fs::path& one, const fs::path& other) {
  if (renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) return;
  fs::remove(other);
  fs::rename(one, other);
}

bool is_of_ended_process(const std::string& identity) {
  pid_t process = 0;
  std::from_chars(identity.data(), identity.data() + identity.size(), process);
  return process > 0 && process_identity(process) != identity;
}

/// Not while a process is still saving the commits.
bool is_abandoned(const fs::path& path) {
  const std::string name = path.filename().string();
  struct stat status {};
  if (!name.starts_with(name_begin) || lstat(path.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) return false;
  return is_of_ended_process(name.substr(name_begin.size())) && !is_locked(path);
}

}  // namespace

CommitMemory::CommitMemory(const std::string& link, bool keeps)
    : folder_(make_folder(folder_of(getpid()), link)),
      link_(place_of(link)),
      keeps_(keeps),
      lock_(locked(folder_)) {}

CommitMemory::~CommitMemory() { end(); }

/// Ranks of a killed job that still write make a copy fail, which is then repeated.
std::optional<fs::path> CommitMemory::end() {
  constexpr int attempts = 5;
  constexpr std::chrono::seconds pause(1);
  std::error_code error;
  if (std::exchange(has_ended_, true)) return left();
  for (int attempt = 0; attempt < attempts && fs::exists(folder_, error); ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(pause);
    if (try_to_save()) break;
  }
  if (left()) fs::remove_all(copy_of(link_), error);
  return left();
}

std::optional<fs::path> CommitMemory::left() const {
  std::error_code error;
  return fs::exists(folder_, error) ? std::optional(folder_) : std::nullopt;
}

/// The place is unchanged: neither the saved content nor the memory of another job was put there.
bool CommitMemory::owns_link() const {
  const fs::file_status status = fs::symlink_status(link_);
  return !fs::exists(status) || (fs::is_symlink(status) && fs::read_symlink(link_) == folder_);
}

/// The link is removed last, and only while it leads to the folder.
bool CommitMemory::try_to_save() const {
  const fs::path copy = copy_of(link_);
  try {
    fs::remove_all(copy);
    if (keeps_ && owns_link()) {
      fs::copy(folder_, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
      exchange(copy, link_);
    }
    fs::remove_all(folder_);
    if (keeps_ || owns_link()) fs::remove(keeps_ ? copy : link_);
    return true;
  } catch (const fs::filesystem_error&) {
    return false;
  }
}

bool is_saving_commits(const fs::path& link) {
  const fs::path place = place_of(link);
  const auto leads_to_saved = [](const fs::path& path) {
    std::error_code missing;
    const fs::path folder = fs::read_symlink(path, missing);
    const std::string name = folder.filename().string();
    return !missing && name.starts_with(name_begin) && is_of_ended_process(name.substr(name_begin.size())) &&
           is_locked(folder);
  };
  return leads_to_saved(place) || leads_to_saved(copy_of(place));
}

std::vector<fs::path> abandoned_commit_memory(const fs::path& folder) {
  std::vector<fs::path> abandoned;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (is_abandoned(entry.path())) abandoned.push_back(entry.path());
  std::ranges::sort(abandoned);
  return abandoned;
}

}  // namespace tandem

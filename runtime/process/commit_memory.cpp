#include "runtime/process/commit_memory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

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

/// Reads until the job has ended, then moves or removes the folder. When the job's process was killed, its
/// ranks are ended first. What cannot be copied stays.
Process start_guard(const fs::path& folder, const std::string& link, bool keeps, const Descriptor& life) {
  const Descriptor nowhere = create_file("/dev/null");
  const std::string script =
      R"(read -r _; kill -0 "$3" 2> /dev/null || sleep 1; )" +
      std::string(keeps ? R"(cp -R "$1" "$2.copy" && rm -f "$2" && mv "$2.copy" "$2" && rm -rf "$1" || )"
                          R"({ rm -rf "$2.copy"; exit 1; })"
                        : R"(rm -f "$2"; rm -rf "$1")");
  // In a group of its own, so that Ctrl-C ends the job first.
  return start_program({.words = {"sh", "-c", script, "sh", folder.string(), fs::absolute(link).string(),
                                  std::to_string(getpid())},
                        .input = life.number(),
                        .output = nowhere.number(),
                        .errors = nowhere.number(),
                        .own_group = true});
}

Process make_folder(const fs::path& folder, const std::string& link, bool keeps, Descriptor& life) {
  Pipe pipe = make_pipe();
  std::error_code error;
  fs::create_directory(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  if (!error) fs::remove_all(link, error);
  if (!error) fs::create_directory_symlink(folder, link, error);
  if (error)
    throw WorldError(
        fmt::format("commits cannot be kept in memory, folder '{}': {}", folder.string(), error.message()));
  life = std::move(pipe.write_end);
  return start_guard(folder, link, keeps, pipe.read_end);
}

bool is_abandoned(const fs::path& path) {
  const std::string name = path.filename().string();
  struct stat status {};
  if (!name.starts_with(name_begin) || lstat(path.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) return false;
  const std::string identity = name.substr(name_begin.size());
  pid_t process = 0;
  std::from_chars(identity.data(), identity.data() + identity.size(), process);
  return process > 0 && process_identity(process) != identity;
}

}  // namespace

CommitMemory::CommitMemory(const std::string& link, bool keeps)
    : folder_(folder_of(getpid())), guard_(make_folder(folder_, link, keeps, life_)) {}

CommitMemory::~CommitMemory() { end(); }

std::optional<fs::path> CommitMemory::end() {
  life_.close();
  return guard_.wait().succeeded() ? std::nullopt : std::optional(folder_);
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

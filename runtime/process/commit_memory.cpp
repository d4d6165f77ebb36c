#include "runtime/process/commit_memory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
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

/// Absolute, and without links in the folders above it: the same path, whichever way leads to it.
fs::path place_of(const fs::path& link) {
  const fs::path absolute = fs::absolute(link);
  return fs::weakly_canonical(absolute.parent_path()) / absolute.filename();
}

/// Reads until the job has ended, then moves or removes the folder. When the job's process was killed, its
/// ranks end first; one that still writes makes a copy fail, which is then repeated. What cannot be copied
/// stays.
Process start_guard(const fs::path& folder, const std::string& link, bool keeps, const Descriptor& life) {
  const Descriptor nowhere = create_file("/dev/null");
  const std::string script =
      R"(read -r _; kill -0 "$3" 2> /dev/null || sleep 1; )" +
      std::string(
          keeps ? R"(for pause in 0 1 1 1 1; do sleep $pause; rm -rf "$2.copy"; )"
                  R"(cp -R "$1" "$2.copy" && rm -f "$2" && mv "$2.copy" "$2" && rm -rf "$1" && exit 0; )"
                  R"(done; rm -rf "$2.copy"; exit 1)"
                : R"(rm -f "$2"; rm -rf "$1")");
  // In a group of its own, so that Ctrl-C ends the job first.
  return start_program({.words = {"sh", "-c", script, "sh", folder.string(), place_of(link).string(),
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

bool is_of_ended_process(const std::string& identity) {
  pid_t process = 0;
  std::from_chars(identity.data(), identity.data() + identity.size(), process);
  return process > 0 && process_identity(process) != identity;
}

/// `words`: program and arguments of a process, each between zero bytes.
bool has_process_with(const std::function<bool(const std::string& words)>& matches) {
  const auto found = processes_where([&](const fs::path& process) {
    const std::ifstream file(process / "cmdline", std::ios::binary);
    std::ostringstream words;
    words << '\0' << file.rdbuf();
    return matches(words.str());
  });
  return !found.empty();
}

bool has_guard(const fs::path& folder) {
  const std::string word = '\0' + folder.string() + '\0';
  return has_process_with([&](const std::string& words) { return words.find(word) != std::string::npos; });
}

/// While a guard lives, the commits are still being saved.
bool is_abandoned(const fs::path& path) {
  const std::string name = path.filename().string();
  struct stat status {};
  if (!name.starts_with(name_begin) || lstat(path.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) return false;
  return is_of_ended_process(name.substr(name_begin.size())) && !has_guard(path);
}

}  // namespace

CommitMemory::CommitMemory(const std::string& link, bool keeps)
    : folder_(folder_of(getpid())), guard_(make_folder(folder_, link, keeps, life_)) {}

CommitMemory::~CommitMemory() { end(); }

std::optional<fs::path> CommitMemory::end() {
  life_.close();
  return guard_.wait().succeeded() ? std::nullopt : std::optional(folder_);
}

bool is_saving_commits(const fs::path& link) {
  const std::string place = '\0' + place_of(link).string() + '\0';
  const std::string folder = '\0' + (fs::path(shared_memory_folder) / name_begin).string();
  return has_process_with([&](const std::string& words) {
    const auto found = words.find(folder);
    if (found == std::string::npos || words.find(place) == std::string::npos) return false;
    const std::size_t begin = found + folder.size();
    return is_of_ended_process(words.substr(begin, words.find('\0', begin) - begin));
  });
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

#include "workloads/records/write_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::string lock_file_of(const std::string& path) {
  return fs::is_directory(path) ? (fs::path(path) / lock_file_name).string() : path + ".lock";
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.ends_with('\0')) text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// "process 4711 (tandem run lab.yaml)": the first holder in the lock file that still exists here, or the
/// last one, which may be on another machine.
std::string holder_in(const std::string& lock_file) {
  std::ifstream file(lock_file);
  std::string holder = "another process";
  for (std::string line; std::getline(file, line);) {
    const auto space = line.find(' ');
    if (space == std::string::npos) continue;
    const std::string process = line.substr(0, space);
    holder = fmt::format("process {} ({})", process, line.substr(space + 1));
    if (fs::exists("/proc/" + process)) break;
  }
  return holder;
}

[[noreturn]] void report_holder(const std::string& path, const std::string& lock_file) {
  throw ConfigError(fmt::format("{}: in use by {}; wait until it ends, or choose another --out", path,
                                holder_in(lock_file)));
}

bool is_same_file(int descriptor, const std::string& path) {
  struct stat own {};
  struct stat named {};
  return fstat(descriptor, &own) == 0 && stat(path.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
         own.st_ino == named.st_ino;
}

int open_lock_file(const std::string& path, const std::string& lock_file) {
  const int descriptor = open(lock_file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0)
    throw WorldError(
        fmt::format("{}: expected a place that can be written, found: {}", path, std::strerror(errno)));
  return descriptor;
}

}  // namespace

WriteLock::WriteLock(const std::string& path, Use use) : file_(lock_file_of(path)) {
  const int operation = use == Use::alone ? LOCK_EX : LOCK_SH;
  // A holder that ends removes the file, perhaps after it was opened here.
  do {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = open_lock_file(path, file_);
    if (flock(descriptor_, operation | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(descriptor_);
      report_holder(path, file_);
    }
  } while (!is_same_file(descriptor_, file_));
  const bool emptied = use == Use::with_job || ftruncate(descriptor_, 0) == 0;
  const std::string line = fmt::format("{} {}\n", getpid(), own_command());
  if (emptied && write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
  const std::string reason = std::strerror(errno);
  close(descriptor_);
  throw WorldError(fmt::format("cannot write {}: {}", file_, reason));
}

WriteLock::WriteLock(WriteLock&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

WriteLock::~WriteLock() {
  if (descriptor_ < 0) return;
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 && is_same_file(descriptor_, file_)) unlink(file_.c_str());
  close(descriptor_);
}

void WriteLock::share() const { flock(descriptor_, LOCK_SH | LOCK_NB); }

void expect_not_written(const std::string& directory) {
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().filename() != lock_file_name) continue;
    const std::string file = entry.path().string();
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) continue;  // its holder has just removed it
    const bool is_held = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(descriptor);
    if (is_held) report_holder(entry.path().parent_path().string(), file);
  }
}

}  // namespace tandem

#include "workloads/records/write_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// For a process of the same job that prepares the directory, or finds out whether it is the last one.
constexpr auto patience = 2000ms;

std::string lock_file_of(const std::string& path) {
  return fs::is_directory(path) ? (fs::path(path) / lock_file_name).string() : path + ".lock";
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text = rest_of(file);
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

WriteLock::WriteLock(const std::string& path, Use use) : WriteLock() {
  const auto end = std::chrono::steady_clock::now() + (use == Use::with_job ? patience : 0ms);
  while (!take(path, use == Use::alone ? LOCK_EX : LOCK_SH)) {
    if (std::chrono::steady_clock::now() >= end) report_holder(path, file_);
    std::this_thread::sleep_for(5ms);
  }
  write_holder(use);
}

std::optional<WriteLock> WriteLock::if_free(const std::string& path) {
  WriteLock lock;
  if (!lock.take(path, LOCK_EX)) return std::nullopt;
  lock.write_holder(Use::alone);
  return lock;
}

bool WriteLock::take(const std::string& path, int operation) {
  file_ = lock_file_of(path);
  // A holder that ends removes the file, perhaps after it was opened here.
  do {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = open_lock_file(path, file_);
    if (flock(descriptor_, operation | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(std::exchange(descriptor_, -1));
      return false;
    }
  } while (!is_same_file(descriptor_, file_));
  return true;
}

void WriteLock::write_holder(Use use) const {
  const bool emptied = use == Use::with_job || ftruncate(descriptor_, 0) == 0;
  const std::string line = fmt::format("{} {}\n", getpid(), own_command());
  if (!emptied || write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw WorldError(fmt::format("cannot write {}: {}", file_, std::strerror(errno)));
}

WriteLock::WriteLock(WriteLock&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

WriteLock::~WriteLock() {
  if (descriptor_ < 0) return;
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 && is_same_file(descriptor_, file_)) unlink(file_.c_str());
  close(descriptor_);
}

void WriteLock::share() const { flock(descriptor_, LOCK_SH); }

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

#include "runtime/cluster/system.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>

#include "policies/vocabulary/check.hpp"

namespace tandem::cluster {
namespace {

namespace fs = std::filesystem;
constexpr const char* namespace_folder = "/run/netns";

/// A file without a name, so that neither side of a command ever waits for the other.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("tandem", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw WorldError(fmt::format("memfd_create: {}", std::strerror(errno)));
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  void fill(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const auto count = write(descriptor_, text.data() + done, text.size() - done);
      if (count <= 0) throw WorldError(fmt::format("memfd: {}", std::strerror(errno)));
      done += static_cast<std::size_t>(count);
    }
    lseek(descriptor_, 0, SEEK_SET);
  }
  std::string text() const {
    std::string all;
    std::array<char, 4096> buffer{};
    lseek(descriptor_, 0, SEEK_SET);
    for (ssize_t count = 0; (count = read(descriptor_, buffer.data(), buffer.size())) > 0;)
      all.append(buffer.data(), static_cast<std::size_t>(count));
    return all;
  }

 private:
  int descriptor_;
};

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

CommandOutcome run_command(const std::vector<std::string>& words, const std::string& input) {
  const MemoryFile in, out;
  in.fill(input);
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (auto& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDERR_FILENO);
  pid_t child = -1;
  const int error = posix_spawnp(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return {127, words.front() + ": no such program"};
  if (error != 0) throw WorldError(fmt::format("cannot start {}: {}", words.front(), std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.text()};
}

std::vector<std::string> network_namespaces(const std::string& prefix) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(namespace_folder, missing)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void inside_namespace(const std::string& name, const std::function<void()>& act) {
  const std::string path = fmt::format("{}/{}", namespace_folder, name);
  std::exception_ptr failure;
  // A thread of its own: setns changes the calling thread alone, and there is no way back to be missed.
  std::thread inside([&] {
    try {
      const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      const bool entered = descriptor >= 0 && setns(descriptor, CLONE_NEWNET) == 0;
      const int reason = errno;
      if (descriptor >= 0) close(descriptor);
      if (!entered) throw WorldError(fmt::format("cannot enter {}: {}", path, std::strerror(reason)));
      act();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  inside.join();
  if (failure) std::rethrow_exception(failure);
}

std::vector<pid_t> processes_in(const std::string& name) {
  std::vector<pid_t> found;
  struct stat wanted {};
  if (stat(fmt::format("{}/{}", namespace_folder, name).c_str(), &wanted) != 0) return found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string number = entry.path().filename();
    pid_t process = 0;
    const auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), process);
    if (error != std::errc() || rest != number.data() + number.size()) continue;
    struct stat own {};
    if (stat((entry.path() / "ns/net").c_str(), &own) == 0 && same_file(own, wanted))
      found.push_back(process);
  }
  return found;
}

void kill_processes_in(const std::string& name) {
  using namespace std::chrono_literals;
  const auto give_up = std::chrono::steady_clock::now() + 5s;
  for (auto left = processes_in(name); !left.empty(); left = processes_in(name)) {
    if (std::chrono::steady_clock::now() > give_up)
      throw WorldError(fmt::format("process {} in {} does not end", left.front(), name));
    for (const pid_t process : left) kill(process, SIGKILL);
    std::this_thread::sleep_for(10ms);
  }
}

}  // namespace tandem::cluster

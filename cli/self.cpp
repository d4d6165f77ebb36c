#include "cli/self.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/commands.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

volatile sig_atomic_t running_child = 0;
volatile sig_atomic_t passed_on = 0;

void pass_on(int signal) {
  passed_on = signal;
  if (running_child > 0) kill(running_child, signal);
}

/// Passes Ctrl-C and its like on to the program that runs, which cleans up and ends; then this one ends by
/// the same signal.
class SignalsPassedOn {
 public:
  SignalsPassedOn() {
    struct sigaction action = {};
    action.sa_handler = pass_on;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
    }
  }
  ~SignalsPassedOn() {
    running_child = 0;
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
    if (passed_on != 0) raise(passed_on);
  }
  SignalsPassedOn(const SignalsPassedOn&) = delete;
  SignalsPassedOn& operator=(const SignalsPassedOn&) = delete;

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> before_ = {};
};

/// Starts the program, in a process group of its own so that a terminal's Ctrl-C reaches it once, and returns
/// waitpid's status.
int spawn_and_wait(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = -1;
  const SignalsPassedOn signals;
  const int error =
      posix_spawn(&child, words.front().c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw WorldError("cannot start " + words.front());
  running_child = child;
  if (passed_on != 0) kill(child, passed_on);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

void run_self(const std::vector<std::string>& words, const std::string& log) {
  std::vector<std::string> all = {std::filesystem::read_symlink("/proc/self/exe").string()};
  all.insert(all.end(), words.begin(), words.end());
  const int status = spawn_and_wait(std::move(all), log);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : exit_broken_world;
  if (code == exit_fine) return;
  std::ifstream file(log);
  std::string said{std::istreambuf_iterator<char>(file), {}};
  if (said.empty()) said = "nothing that could be written to " + log + "; is the disk full?";
  const std::string message = fmt::format("tandem {} failed:\n{}", fmt::join(words, " "), said);
  if (code == exit_bad_input) throw ConfigError(message);
  throw WorldError(message);
}

}  // namespace tandem::cli

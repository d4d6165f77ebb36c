#include "cli/subcommand_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "cli/commands.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

constexpr int most_at_once = 64;
/// 0: none. A handler may read nothing that allocates.
std::array<volatile sig_atomic_t, most_at_once> running_children{};
volatile sig_atomic_t passed_on = 0;

void pass_on(int signal) {
  passed_on = signal;
  for (const auto& child : running_children)
    if (child > 0) kill(child, signal);
}

/// Passes Ctrl-C and its like on to the programs that run, which clean up and end; then this one ends by
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
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
    if (passed_on != 0) raise(passed_on);
  }
  SignalsPassedOn(const SignalsPassedOn&) = delete;
  SignalsPassedOn& operator=(const SignalsPassedOn&) = delete;

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> before_ = {};
};

/// Starts the program, in a process group of its own so that a terminal's Ctrl-C reaches it once; -1 when it
/// cannot.
pid_t spawn(std::vector<std::string> words, const std::string& log) {
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
  const int error =
      posix_spawn(&child, words.front().c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : -1;
}

/// What run_self throws; null when the command did its work.
std::exception_ptr error_of(const SelfCommand& command, int status) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : exit_broken_world;
  if (code == exit_fine) return nullptr;
  std::ifstream file(command.log);
  std::string said{std::istreambuf_iterator<char>(file), {}};
  if (said.empty()) said = "nothing that could be written to " + command.log + "; is the disk full?";
  const std::string message = fmt::format("tandem {} failed:\n{}", fmt::join(command.words, " "), said);
  if (code == exit_bad_input) return std::make_exception_ptr(ConfigError(message));
  return std::make_exception_ptr(WorldError(message));
}

/// Programs side by side, each in a slot that the handler of signals knows.
class Children {
 public:
  Children() : program_(std::filesystem::read_symlink("/proc/self/exe").string()) {}

  std::ptrdiff_t running() const {
    return std::count_if(running_children.begin(), running_children.end(),
                         [](const auto& child) { return child > 0; });
  }

  /// Whether it could. Pre: fewer run than there are slots.
  bool start(const SelfCommand& command, std::size_t index) {
    std::vector<std::string> words = {program_};
    words.insert(words.end(), command.words.begin(), command.words.end());
    const pid_t child = spawn(std::move(words), command.log);
    if (child < 0) return false;
    const auto slot = static_cast<std::size_t>(
        std::find_if(running_children.begin(), running_children.end(), [](const auto& c) { return c == 0; }) -
        running_children.begin());
    commands_[slot] = index;
    running_children[slot] = child;
    // The signal may have come between.
    if (passed_on != 0) kill(child, passed_on);
    return true;
  }

  struct Ended {
    std::size_t command;
    int status;  ///< waitpid's
  };
  /// One that has ended, if any has; forgets it.
  std::optional<Ended> take_ended() {
    for (std::size_t slot = 0; slot < running_children.size(); ++slot) {
      const pid_t child = running_children[slot];
      int status = 0;
      if (child == 0 || waitpid(child, &status, WNOHANG) != child) continue;
      running_children[slot] = 0;
      return Ended{commands_[slot], status};
    }
    return std::nullopt;
  }

 private:
  std::string program_;
  std::array<std::size_t, most_at_once> commands_{};
};

}  // namespace

void run_subcommands(const std::vector<SelfCommand>& commands, int at_once,
                     const std::function<void(std::size_t, std::exception_ptr)>& ended,
                     const std::function<void()>& waiting) {
  TANDEM_CHECK(at_once >= 1 && at_once <= most_at_once, "at_once", at_once);
  constexpr std::chrono::milliseconds pause(5);
  std::vector<bool> told(commands.size(), false);
  const auto tell = [&](std::size_t index, std::exception_ptr error) {
    told[index] = true;
    ended(index, std::move(error));
  };
  {
    const SignalsPassedOn signals;
    Children children;
    std::size_t next = 0;
    while (children.running() > 0 || (passed_on == 0 && next < commands.size())) {
      if (passed_on == 0 && next < commands.size() && children.running() < at_once) {
        const std::size_t index = next++;
        if (!children.start(commands[index], index))
          tell(index, std::make_exception_ptr(WorldError("cannot start tandem once more")));
        continue;
      }
      if (const auto one = children.take_ended(); !one) {
        waiting();
        std::this_thread::sleep_for(pause);
      } else if (passed_on == 0) {
        tell(one->command, error_of(commands[one->command], one->status));
      }
    }
  }
  // Whoever asked to stop has ended this program by now, unless it minds that signal no longer.
  for (std::size_t index = 0; index < commands.size(); ++index)
    if (!told[index]) tell(index, std::make_exception_ptr(WorldError("interrupted")));
}

void run_self(const SelfCommand& command) {
  std::exception_ptr error;
  run_subcommands({command}, 1, [&](std::size_t, std::exception_ptr its) { error = std::move(its); });
  if (error) std::rethrow_exception(error);
}

}  // namespace tandem::cli

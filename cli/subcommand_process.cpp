#include "cli/subcommand_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "cli/commands.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/process/process.hpp"
#include "runtime/process/running_program.hpp"
#include "runtime/process/signals.hpp"

namespace tandem::cli {
namespace {

/// What run_subcommand throws; null when the command succeeded.
std::exception_ptr error_of(const Subcommand& command, const ExitStatus& status) {
  const int code = status.signal == 0 ? status.code : exit_environment_error;
  if (code == exit_success) return nullptr;
  std::ifstream file(command.log);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) text = "no message in " + command.log + "; is the disk full?";
  const std::string message = fmt::format("tandem {} failed:\n{}", fmt::join(command.words, " "), text);
  if (code == exit_bad_input) return std::make_exception_ptr(ConfigError(message));
  return std::make_exception_ptr(WorldError(message));
}

/// Commands that run concurrently.
class RunningCommands {
 public:
  explicit RunningCommands(const sigset_t& blocked_signals)
      : program_(running_program().string()), blocked_signals_(blocked_signals) {}

  int count() const { return static_cast<int>(running_.size()); }

  /// Errors: WorldError.
  void start(const Subcommand& command, std::size_t index) {
    std::vector<std::string> words = {program_};
    words.insert(words.end(), command.words.begin(), command.words.end());
    const Descriptor log = create_file(command.log);
    // In a group of its own, a command gets a terminal's Ctrl-C once: from here.
    running_.push_back({index, start_program({.words = std::move(words),
                                              .output = log.number(),
                                              .errors = log.number(),
                                              .own_group = true,
                                              .signal_on_parent_end = SIGTERM,
                                              .blocked_signals = blocked_signals_})});
  }

  void signal_all(int number) const {
    for (const auto& one : running_) one.process.signal(number);
  }

  struct Ended {
    std::size_t command;
    ExitStatus status;
  };
  /// Removes a command that has ended, if there is one.
  std::optional<Ended> take_ended() {
    for (auto one = running_.begin(); one != running_.end(); ++one) {
      const auto status = one->process.poll();
      if (!status) continue;
      const Ended ended{one->index, *status};
      running_.erase(one);
      return ended;
    }
    return std::nullopt;
  }

 private:
  struct Running {
    std::size_t index;
    Process process;
  };
  std::string program_;
  sigset_t blocked_signals_;
  std::vector<Running> running_;
};

using OnEnd = std::function<void(std::size_t, std::exception_ptr)>;

/// Runs the commands until all have ended or a signal has ended those that ran; returns this signal, or 0.
int run_until_signal(const std::vector<Subcommand>& commands, int parallel_jobs, const OnEnd& ended,
                     const std::function<void()>& waiting) {
  constexpr std::chrono::milliseconds pause(5);
  const SignalReader signals(ending_signals);
  RunningCommands running(signals.mask_of_children());
  int interrupt = 0;
  std::size_t next = 0;
  while (running.count() > 0 || (interrupt == 0 && next < commands.size())) {
    while (const auto signal = signals.next()) running.signal_all(interrupt = *signal);
    if (interrupt == 0 && next < commands.size() && running.count() < parallel_jobs) {
      const std::size_t index = next++;
      try {
        running.start(commands[index], index);
      } catch (const WorldError&) {
        ended(index, std::current_exception());
      }
    } else if (const auto one = running.take_ended(); !one) {
      waiting();
      std::this_thread::sleep_for(pause);
    } else if (interrupt == 0) {
      ended(one->command, error_of(commands[one->command], one->status));
    }
  }
  return interrupt;
}

}  // namespace

void run_subcommands(const std::vector<Subcommand>& commands, int parallel_jobs, const OnEnd& ended,
                     const std::function<void()>& waiting) {
  TANDEM_CHECK(parallel_jobs >= 1, "parallel_jobs", parallel_jobs);
  const int interrupt = run_until_signal(commands, parallel_jobs, ended, waiting);
  if (interrupt != 0) throw Interrupted{interrupt};
}

void run_subcommand(const Subcommand& command) {
  std::exception_ptr error;
  run_subcommands({command}, 1, [&](std::size_t, std::exception_ptr failure) { error = std::move(failure); });
  if (error) std::rethrow_exception(error);
}

}  // namespace tandem::cli

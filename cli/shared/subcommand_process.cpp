#include "cli/shared/subcommand_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "runtime/process/running_program.hpp"
#include "runtime/process/signals.hpp"

namespace tandem::cli {
namespace {

/// Processes that run concurrently.
class RunningProcesses {
 public:
  int count() const { return static_cast<int>(running_.size()); }
  void add(std::size_t index, Process process) { running_.push_back({index, std::move(process)}); }
  void signal_all(int number) const {
    for (const auto& one : running_) one.process.signal(number);
  }

  struct Ended {
    std::size_t index;
    ExitStatus status;
  };
  /// Removes a process that has ended, if there is one.
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
  std::vector<Running> running_;
};

void start_next(const ProcessQueue& queue, std::size_t index, const SignalReader& signals,
                RunningProcesses& running) {
  try {
    running.add(index, queue.start(index, signals.mask_of_children()));
  } catch (const WorldError&) {
    queue.ended(index, {}, std::current_exception());
  }
}

/// Runs the processes until all have ended or a signal has ended those that ran; returns this signal, or 0.
int run_until_signal(const ProcessQueue& queue, int parallel) {
  constexpr Seconds pause(0.1);
  // The end of a process wakes this one.
  const SignalReader signals({SIGINT, SIGTERM, SIGHUP, SIGCHLD});
  RunningProcesses running;
  int interrupt = 0;
  std::size_t next = 0;
  while (running.count() > 0 || (interrupt == 0 && next < queue.count)) {
    while (const auto signal = signals.next())
      if (*signal != SIGCHLD) running.signal_all(interrupt = *signal);
    if (interrupt == 0 && next < queue.count && running.count() < parallel) {
      start_next(queue, next++, signals, running);
    } else if (const auto one = running.take_ended(); !one) {
      queue.waiting();
      signals.wait_for(pause);
    } else if (interrupt == 0) {
      queue.ended(one->index, one->status, nullptr);
    }
  }
  return interrupt;
}

}  // namespace

void run_processes(const ProcessQueue& queue, int parallel) {
  TANDEM_CHECK(parallel >= 1, "parallel", parallel);
  if (const int interrupt = run_until_signal(queue, parallel); interrupt != 0) throw Interrupted{interrupt};
}

std::exception_ptr error_of(const std::string& what, const std::string& log, const ExitStatus& status) {
  const int code = status.signal == 0 ? status.code : exit_environment_error;
  if (code == exit_success) return nullptr;
  std::ifstream file(log);
  std::string text = rest_of(file);
  if (text.empty()) text = "no message in " + log + "; is the disk full?";
  const std::string message = fmt::format("{} failed:\n{}", what, text);
  if (code == exit_bad_input) return std::make_exception_ptr(ConfigError(message));
  return std::make_exception_ptr(WorldError(message));
}

int run_in_copy(const std::function<void()>& body) {
  begin_output({});
  const int code = exit_code_of([&body] {
    body();
    return exit_success;
  });
  std::fflush(stdout);
  std::fflush(stderr);
  return code;
}

void run_apart(const std::function<void()>& body, const std::string& what, const std::string& log) {
  std::exception_ptr failure;
  ProcessQueue queue{.count = 1, .start = {}, .ended = {}};
  queue.start = [&](std::size_t, const sigset_t& blocked_signals) {
    const Descriptor output = create_file(log);
    return start_function([&body] { return run_in_copy(body); },
                          {.output = output.number(), .own_group = true, .blocked_signals = blocked_signals});
  };
  queue.ended = [&](std::size_t, const ExitStatus& status, std::exception_ptr error) {
    failure = error ? std::move(error) : error_of(what, log, status);
  };
  run_processes(queue, 1);
  std::filesystem::remove(log);
  if (failure) std::rethrow_exception(failure);
}

void run_subcommands(const std::vector<Subcommand>& commands, int parallel,
                     const std::function<void(double)>& progress) {
  std::exception_ptr failure;
  std::vector<bool> has_ended(commands.size());
  ProcessQueue queue{.count = commands.size(), .start = {}, .ended = {}};
  queue.start = [&](std::size_t index, const sigset_t& blocked_signals) {
    const Subcommand& command = commands[index];
    std::vector<std::string> words = {running_program().string()};
    words.insert(words.end(), command.words.begin(), command.words.end());
    const Descriptor log = create_file(command.log);
    // In a group of its own, a command gets a terminal's Ctrl-C once: from here.
    return start_program({.words = std::move(words),
                          .output = log.number(),
                          .errors = log.number(),
                          .own_group = true,
                          .signal_on_parent_end = SIGTERM,
                          .blocked_signals = blocked_signals});
  };
  queue.ended = [&](std::size_t index, const ExitStatus& status, std::exception_ptr error) {
    const Subcommand& command = commands[index];
    if (!error)
      error = error_of(fmt::format("tandem {}", fmt::join(command.words, " ")), command.log, status);
    if (error && !failure) failure = std::move(error);
    has_ended[index] = true;
  };
  queue.waiting = [&] {
    if (!progress) return;
    double done = 0;
    for (std::size_t i = 0; i < commands.size(); ++i)
      done += has_ended[i] ? 1.0 : logged_progress(commands[i].log);
    progress(done / static_cast<double>(commands.size()));
  };
  run_processes(queue, parallel);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tandem::cli

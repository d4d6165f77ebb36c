#include "runtime/machines/guards.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/machines/conversation.hpp"
#include "runtime/process/process_list.hpp"

namespace tandem::machines {
namespace {

constexpr Seconds pause{0.5};
/// The first answer waits for the connection.
constexpr Seconds start_limit{20.0};

/// Signals are for the thread that waits for the job.
void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

Guards::Guards(GuardSetting setting) : setting_(std::move(setting)) {
  for (const auto& machine : setting_.machines) threads_.emplace_back([this, machine] { watch(machine); });
}

Guards::~Guards() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ended_.notify_all();
  for (auto& thread : threads_) thread.join();
}

std::optional<Guards::Lost> Guards::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

bool Guards::wait(Seconds duration) {
  std::unique_lock lock(mutex_);
  return !ended_.wait_for(lock, std::chrono::duration<double>(duration.count()),
                          [this] { return is_ending_; });
}

void Guards::lose(const std::string& machine, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!lost_ && !is_ending_) lost_ = Lost{machine, reason};
}

void Guards::watch(const std::string& machine) {
  block_all_signals();
  try {
    Conversation guard(
        words_on(setting_.agent, machine,
                 {setting_.program, "--guard", setting_.mark, fmt::format("{:g}", setting_.limit.count())}),
        start_limit);
    while (guard.ask("there?")) {
      if (!wait(pause)) return;
      guard.allow(setting_.limit);
    }
    lose(machine, guard.reason());
  } catch (const WorldError& error) {
    lose(machine, error.what());
  }
}

void guard_machine(const std::string& mark, Seconds limit) {
  // What the program that asks prints or reads may be gone.
  std::signal(SIGPIPE, SIG_IGN);
  const int limit_ms = static_cast<int>(limit.count() * 1e3);
  pollfd polled{STDIN_FILENO, POLLIN, 0};
  char bytes[4096];
  while (poll(&polled, 1, limit_ms) > 0) {
    const ssize_t count = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (count <= 0) break;
    for (ssize_t i = 0; i < count; ++i)
      if (bytes[i] == '\n' && write(STDOUT_FILENO, "here\n", 5) != 5) break;
  }
  constexpr Seconds kill_limit{4.0};
  kill_until_none([&mark] { return processes_with_variable(mark); }, kill_limit);
}

}  // namespace tandem::machines

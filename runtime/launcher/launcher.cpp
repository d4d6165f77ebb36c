#include "runtime/launcher/launcher.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/child.hpp"
#include "runtime/launcher/mpirun_errors.hpp"
#include "runtime/launcher/rank_lines.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

/// Keeps SIGINT and SIGTERM from this thread and tells of them instead.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    descriptor_ = signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor_ < 0) throw WorldError("signalfd failed");
  }
  ~EndSignals() {
    close(descriptor_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  const sigset_t& set() const { return set_; }
  int descriptor() const { return descriptor_; }
  std::optional<int> next() const {
    signalfd_siginfo info{};
    if (read(descriptor_, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
  int descriptor_ = -1;
};

LaunchResult result_of(int status, std::optional<int> signal, const MpirunErrors& errors) {
  if (signal) return {.exit_code = 128 + *signal, .message = fmt::format("ended by signal {}", *signal)};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  RankFailure failure = errors.failure();
  LaunchResult result{.failed_rank = failure.rank, .message = failure.message};
  if (failure.rank >= 0)
    result.message = fmt::format("rank {}{}{}: {}", failure.rank, failure.host.empty() ? "" : " on host ",
                                 failure.host, failure.message);
  else if (WIFSIGNALED(status))
    result.message = fmt::format("mpirun was ended by signal {}", WTERMSIG(status));
  result.exit_code = WIFEXITED(status) && WEXITSTATUS(status) == 2 ? 2 : 70;
  return result;
}

}  // namespace

LaunchResult launch(const LaunchSetting& setting, const LaunchEvents& events) {
  const auto words = launch_command(setting);
  const EndSignals signals;
  Child child(words, signals.set());
  MpirunErrors errors;
  LineReader output(child.output(), [&events](const std::string& line) {
    if (const auto fraction = parse_progress_line(line)) {
      if (events.progress) events.progress(*fraction);
    } else if (events.output) {
      events.output(line);
    }
  });
  LineReader error(child.error(), [&events, &errors](const std::string& line) {
    const auto said = errors.read(line);
    if (said && events.error) events.error(*said);
  });

  std::optional<int> asked_by;
  Clock::time_point kill_at = Clock::time_point::max();
  const auto grace =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(setting.grace.count()));
  while (!child.ended()) {
    // The time limit is for the end of mpirun itself, which no descriptor tells.
    pollfd polled[] = {
        {signals.descriptor(), POLLIN, 0}, {output.descriptor(), POLLIN, 0}, {error.descriptor(), POLLIN, 0}};
    poll(polled, 3, 50);
    while (const auto signal = signals.next()) {
      if (asked_by) kill_at = Clock::now();
      if (!asked_by) {
        asked_by = signal;
        kill_at = Clock::now() + grace;
        child.signal(*signal);
      }
    }
    output.read_some();
    error.read_some();
    if (Clock::now() >= kill_at) child.kill_all();
  }
  output.read_some();
  error.read_some();
  return result_of(*child.ended(), asked_by, errors);
}

}  // namespace tandem

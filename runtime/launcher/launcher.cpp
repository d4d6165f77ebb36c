#include "runtime/launcher/launcher.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <random>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/marked_job.hpp"
#include "runtime/launcher/mpirun_errors.hpp"
#include "runtime/launcher/rank_lines.hpp"
#include "runtime/process/line_reader.hpp"
#include "runtime/process/signals.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

LaunchResult result_of(const ExitStatus& status, std::optional<int> interrupt, const MpirunErrors& errors) {
  if (interrupt)
    return {.exit_code = 128 + *interrupt, .message = fmt::format("ended by signal {}", *interrupt)};
  if (status.succeeded()) return {};
  RankFailure failure = errors.failure();
  LaunchResult result{.failed_rank = failure.rank, .message = failure.message};
  if (failure.rank >= 0)
    result.message = fmt::format("rank {}{}{}: {}", failure.rank, failure.host.empty() ? "" : " on host ",
                                 failure.host, failure.message);
  else if (status.signal != 0)
    result.message = fmt::format("mpirun was ended by signal {}", status.signal);
  result.mpirun_was_killed = status.signal != 0;
  result.exit_code = status.signal == 0 && status.code == 2 ? 2 : 70;
  return result;
}

}  // namespace

LaunchResult launch(const LaunchSetting& setting, const LaunchEvents& events) {
  const auto words = launch_command(setting);
  const SignalReader signals(ending_signals);
  MarkedJob job(words, setting.mark.empty() ? new_launch_mark() : setting.mark, signals.mask_of_children());
  MpirunErrors errors;
  LineReader output(job.take_output(), [&events](const std::string& line) {
    if (const auto fraction = parse_progress_line(line)) {
      if (events.progress) events.progress(*fraction);
    } else if (const auto status = parse_status_line(line)) {
      if (events.status) events.status(*status);
    } else if (events.output) {
      events.output(line);
    }
  });
  LineReader error(job.take_errors(), [&events, &errors](const std::string& line) {
    const auto from_rank = errors.read(line);
    if (from_rank && events.error) events.error(*from_rank);
  });

  std::optional<int> interrupt;
  std::optional<RankFailure> failure;
  Clock::time_point kill_at = Clock::time_point::max();
  const auto grace =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(setting.grace.count()));
  while (!job.mpirun().poll()) {
    // No descriptor reports the end of mpirun itself, hence the time limit.
    pollfd polled[] = {
        {signals.descriptor(), POLLIN, 0}, {output.descriptor(), POLLIN, 0}, {error.descriptor(), POLLIN, 0}};
    poll(polled, 3, 50);
    while (const auto signal = signals.next()) {
      if (interrupt) kill_at = Clock::now();
      if (!interrupt) {
        interrupt = signal;
        kill_at = Clock::now() + grace;
        job.mpirun().signal(*signal);
      }
    }
    output.read_available();
    error.read_available();
    if (!failure && !interrupt && events.failure && (failure = events.failure())) kill_at = Clock::now();
    if (Clock::now() >= kill_at) job.kill_all();
  }
  output.read_available();
  error.read_available();
  const ExitStatus status = job.mpirun().wait();
  if (failure) return {.exit_code = 70, .failed_rank = failure->rank, .message = failure->message};
  return result_of(status, interrupt, errors);
}

std::string new_launch_mark() {
  std::random_device random;
  return fmt::format("{}={}.{:08x}{:08x}", launch_variable, getpid(), random(), random());
}

}  // namespace tandem

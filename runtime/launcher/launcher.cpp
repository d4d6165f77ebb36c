#include "runtime/launcher/launcher.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
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

Clock::duration in_ticks(Seconds time) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time.count()));
}

LaunchResult result_of(const ExitStatus& status, std::optional<int> interrupt, const MpirunErrors& errors) {
  if (interrupt)
    return {.exit_code = 128 + *interrupt,
            .ended_in_order = status.succeeded(),
            .message = fmt::format("ended by signal {}", *interrupt)};
  if (status.succeeded()) return {.ended_in_order = true, .message = {}};
  RankFailure failure = errors.failure();
  LaunchResult result{
      .failed_rank = failure.rank, .ended_by_signal = errors.ended_by_signal(), .message = failure.message};
  if (failure.rank >= 0)
    result.message = fmt::format("rank {}{}{}: {}", failure.rank, failure.host.empty() ? "" : " on host ",
                                 failure.host, failure.message);
  else if (status.signal != 0)
    result.message = fmt::format("mpirun was ended by signal {}", status.signal);
  result.mpirun_was_killed = status.signal != 0;
  result.rank_died = result.ended_by_signal.has_value() || result.mpirun_was_killed;
  result.exit_code = status.signal == 0 && status.code == 2 ? 2 : 70;
  return result;
}

/// Kills a rank at its time.
class KillPlan {
 public:
  KillPlan(const LaunchEvents& events, const MarkedJob& job) : events_(events), job_(job) {}

  int milliseconds_to_wait() {
    constexpr double longest_ms = 50.0;
    plan();
    const double ms = planned_ ? planned_->in.count() * 1e3 : longest_ms;
    // A rank that is late has not been started yet.
    return ms < 0.0 ? static_cast<int>(longest_ms) : static_cast<int>(std::ceil(std::min(ms, longest_ms)));
  }
  void carry_out() {
    plan();
    if (!planned_ || planned_->in > Seconds(0)) return;
    const Rank rank = planned_->rank;
    is_carried_out_ = events_.kill_rank ? events_.kill_rank(rank) : job_.kill_rank(rank);
  }
  bool is_carried_out() const { return is_carried_out_; }

 private:
  void plan() { planned_ = events_.kill && !is_carried_out_ ? events_.kill() : std::nullopt; }

  const LaunchEvents& events_;
  const MarkedJob& job_;
  std::optional<PlannedKill> planned_;
  bool is_carried_out_ = false;
};

/// Whether mpirun stays when no process of its job is left: PMIx may lock up after a rank was killed. Only
/// for a job on this machine, whose processes are all visible.
class LockUpCheck {
 public:
  explicit LockUpCheck(const MarkedJob& job) : job_(job) {}

  bool is_locked_up() {
    constexpr std::chrono::seconds interval{1}, limit{5};
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + interval;
    if (job_.has_ranks()) {
      has_begun_ = true;
      locked_up_at_ = Clock::time_point::max();
    } else if (has_begun_ && locked_up_at_ == Clock::time_point::max()) {
      locked_up_at_ = now + limit;
    }
    return now >= locked_up_at_;
  }

 private:
  const MarkedJob& job_;
  bool has_begun_ = false;
  Clock::time_point next_;
  Clock::time_point locked_up_at_ = Clock::time_point::max();
};

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

  KillPlan kill(events, job);
  LockUpCheck lock_up(job);
  const bool is_here = setting.hosts.empty();
  bool is_locked_up = false;
  std::optional<int> interrupt;
  std::optional<RankFailure> failure;
  Clock::time_point end_at = Clock::time_point::max(), kill_at = end_at;
  while (!job.mpirun().poll()) {
    // No descriptor reports the end of mpirun itself, hence the time limit.
    pollfd polled[] = {
        {signals.descriptor(), POLLIN, 0}, {output.descriptor(), POLLIN, 0}, {error.descriptor(), POLLIN, 0}};
    poll(polled, 3, kill.milliseconds_to_wait());
    while (const auto signal = signals.next()) {
      if (interrupt) kill_at = Clock::now();
      if (!interrupt) {
        interrupt = signal;
        end_at = Clock::now();
        // mpirun passes it on to all ranks.
        if (*signal == SIGTERM && setting.notice > Seconds(0)) {
          job.mpirun().signal(end_signal);
          end_at += in_ticks(setting.notice);
        }
      }
    }
    if (interrupt && Clock::now() >= end_at) {
      job.mpirun().signal(*interrupt);
      kill_at = std::min(kill_at, Clock::now() + in_ticks(setting.grace));
      end_at = Clock::time_point::max();
    }
    output.read_available();
    error.read_available();
    if (!failure && !interrupt && events.failure && (failure = events.failure())) kill_at = Clock::now();
    if (!failure && !interrupt) kill.carry_out();
    if (is_here && !is_locked_up && lock_up.is_locked_up()) {
      is_locked_up = true;
      kill_at = Clock::now();
    }
    if (Clock::now() >= kill_at) job.kill_all();
  }
  output.read_available();
  error.read_available();
  const ExitStatus status = job.mpirun().wait();
  if (failure) return {.exit_code = 70, .failed_rank = failure->rank, .message = failure->message};
  LaunchResult result = result_of(status, interrupt, errors);
  if (is_locked_up && result.failed_rank < 0 && !interrupt)
    result.message = "mpirun did not end although all of its ranks had";
  // It did not end any rank.
  if (is_locked_up) result.mpirun_was_killed = false;
  result.rank_was_killed = kill.is_carried_out();
  return result;
}

std::string new_launch_mark() {
  std::random_device random;
  return fmt::format("{}={}.{:08x}{:08x}", launch_variable, getpid(), random(), random());
}

}  // namespace tandem

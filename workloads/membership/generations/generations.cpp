#include "workloads/membership/generations/generations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/restart_point.hpp"
#include "workloads/job/plan/machines_of_job.hpp"

namespace tandem {
namespace {

constexpr Seconds shortest_pause{1.0};
constexpr Seconds longest_pause{60.0};
/// Deaths in a row before the same checkpoint: more would follow.
constexpr int most_deaths = 3;

/// On one line, with the role of the rank.
std::string reason_of(const GenerationResult& result, const Job& job) {
  std::string text = result.message.substr(0, result.message.find('\n'));
  if (result.failed_rank < 0) return text;
  const RankAssignment& assignment = job.roster().assignment(result.failed_rank);
  return text + fmt::format(" ({} on '{}')", role_name(assignment.role), assignment.host);
}

/// Counts launches that did not get further.
class Attempts {
 public:
  explicit Attempts(std::int64_t round) : round_(round) {}

  /// A launch ended. `round`: of the latest complete checkpoint. `began`: all ranks were ready. `departed`: a
  /// machine departed as it was drawn, which says nothing of the job.
  void note(std::int64_t round, bool began, bool departed) {
    if (round != round_) {
      pause_ = shortest_pause;
      deaths_ = 0;
    } else if (launches_ > 0 && !departed) {
      pause_ = std::min(longest_pause, pause_ * 2.0);
    }
    round_ = round;
    if (departed) return;
    has_begun_ = has_begun_ || began;
    ++launches_;
    // A machine that is away for a while keeps launches from beginning; one that never begins is set up
    // wrong.
    if (began || !has_begun_) ++deaths_;
  }
  bool are_futile() const { return deaths_ >= most_deaths; }
  std::int64_t round() const { return round_; }
  Seconds pause() const { return pause_; }

 private:
  std::int64_t round_;
  Seconds pause_ = shortest_pause;
  int launches_ = 0;
  int deaths_ = 0;
  bool has_begun_ = false;
};

std::string place_of(std::int64_t round) {
  return round > 0 ? fmt::format("round {}", round) : "its beginning";
}

/// Why the job does not start again; empty: it does.
std::string reason_to_end(const Attempts& attempts, int restarts, int most) {
  if (attempts.are_futile())
    return fmt::format(
        "{} launches in a row ended after round {} and before the next checkpoint: the job does not start "
        "again",
        most_deaths, attempts.round());
  if (restarts >= most)
    return fmt::format("the job does not start again after {} restart{} (recovery.restarts)", most,
                       most == 1 ? "" : "s");
  return "";
}

std::string loss_of(const GenerationResult& result) {
  if (!result.lost_commit) return "";
  return fmt::format("; the machines that are lost had the last copy of a part of the commit of round {}",
                     *result.lost_commit);
}

std::string gap_of(const Job& job, const std::optional<ResumePoint>& point) {
  if (!point || !lacks_records(job, *point)) return "";
  return "; the records of some steps before that are lost, so the results lack these steps";
}

/// An error that a rank reports (a full disk; the steward gives up) ends a job that recovers in place.
bool is_followed(const Job& job, const GenerationResult& result) {
  if (result.end != GenerationResult::End::environment_error) return false;
  if (continuation_of(job) != Continuation::in_place) return true;
  return result.drawn || result.is_death;
}

GenerationResult run_generations(Job& job, const std::string& out, GenerationWorld& world,
                                 const NetworkOf& network_of) {
  const int most = job.spec().experiment.recovery.restarts;
  const std::int64_t first_round = job.resume() == nullptr ? 0 : job.resume()->round;
  Attempts attempts(first_round);
  if (const auto* members = world.members();
      members != nullptr && *members != present_slots(job, *job.generation())) {
    world.notify(fmt::format("the job begins with {} of {} workers: {}", members->size(),
                             job.roster().workers().size(), fmt::join(*members, ", ")));
    begin_with(job, out, *members, network_of);
  }
  GenerationResult result = world.launch();
  while (is_followed(job, result)) {
    const int number = job.generation()->number();
    auto point = world.restart_point(result);
    attempts.note(point ? point->round : first_round, start_in(out, number).has_value(),
                  result.drawn.has_value());
    if (const std::string why = reason_to_end(attempts, number, most); !why.empty()) {
      result.message += "\n  " + why;
      return result;
    }
    const std::string reason = reason_of(result, job);
    Seconds pause;
    try {
      pause = world.decide_next(result, attempts.pause());
      expect_workers(job, world.members(), network_of);
    } catch (const WorldError& error) {
      result.message = reason + "\n  " + error.what();
      return result;
    }
    world.notify(fmt::format("{}; the job starts again from {} as generation {}{}{}", reason,
                             place_of(attempts.round()), number + 1, loss_of(result), gap_of(job, point)));
    if (const auto signal = world.wait(pause)) {
      result.end = GenerationResult::End::signal;
      result.signal = *signal;
      result.message = fmt::format("ended by signal {}", *signal);
      return result;
    }
    if (world.has_lost_more()) {
      const auto before = std::move(point);
      const auto lost_before = result.lost_commit;
      point = world.restart_point(result);
      result.note_loss(before, point);
      const std::string loss = result.lost_commit == lost_before ? "" : loss_of(result);
      world.notify(fmt::format("another machine was lost meanwhile: generation {} starts from {}{}",
                               number + 1, place_of(point ? point->round : first_round), loss));
    }
    const auto slots = job.generation()->slots;
    try {
      begin_next(job, out, reason, point, result, world.members(), network_of);
    } catch (const WorldError& error) {
      result.message = reason + "\n  " + error.what();
      return result;
    }
    if (const Generation& next = *job.generation(); next.slots != slots)
      world.notify(fmt::format("generation {} has {} of {} workers: {}", next.number(), next.slots.size(),
                               next.hosts.size(), fmt::join(next.slots, ", ")));
    result = world.launch();
  }
  return result;
}

}  // namespace

bool begin_generations(Job& job) {
  if (!has_generations(job)) return false;
  Generation first;
  if (job.resume() != nullptr) first.origin = *job.resume();
  job.set_generation(std::move(first));
  return true;
}

void remove_generation_files(const Job& job, const std::string& out) {
  remove_record_files(out);
  // Nothing can be resumed from states without values.
  if (job.real_math()) return;
  std::filesystem::remove_all(out + "/checkpoints");
  for (const auto& own : {"/local", "/memory"}) std::filesystem::remove_all(out + own);
}

GenerationResult launch_generations(Job& job, const std::string& out, GenerationWorld& world,
                                    const NetworkOf& network_of) {
  try {
    GenerationResult result = run_generations(job, out, world, network_of);
    // After a signal, the events drawn for the pause have not happened yet.
    const bool as_drawn = result.drawn.has_value() && result.end != GenerationResult::End::signal;
    if (result.end != GenerationResult::End::success) world.write_membership(as_drawn);
    return result;
  } catch (const WorldError&) {
    world.write_membership(false);
    throw;
  }
}

}  // namespace tandem

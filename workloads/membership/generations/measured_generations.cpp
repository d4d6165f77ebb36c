#include "workloads/membership/generations/measured_generations.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/restart_point.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/membership/generations/drawn_machines.hpp"
#include "workloads/membership/generations/next_generation.hpp"

namespace tandem {

MeasuredGenerations::MeasuredGenerations(Job& job, std::string out, GenerationLauncher& launcher)
    : job_(job),
      out_(std::move(out)),
      launcher_(launcher),
      is_revoked_(job.spec().experiment.run.revoke == RevokeMode::kill) {
  if (is_revoked_ || (continuation_of(job) == Continuation::in_place && has_drawn_generations(job)))
    steward_.emplace(make_restart_steward(job));
}

const std::vector<int>* MeasuredGenerations::members() const {
  return steward_ && continuation_of(job_) != Continuation::in_place ? &steward_->members() : nullptr;
}

GenerationResult MeasuredGenerations::launch() {
  if (job_.generation()->number() == 0) return launch_once();
  try {
    return launch_once();
  } catch (const WorldError& error) {
    // A later launch may find a machine that does not answer.
    GenerationResult result;
    result.end = GenerationResult::End::environment_error;
    result.is_death = true;
    result.message = error.what();
    return result;
  }
}

GenerationResult MeasuredGenerations::launch_once() {
  Generation generation = *job_.generation();
  if (generation.first_start_s > 0.0) generation.launched = now().value();
  if (steward_) add_machines(generation, *steward_);
  job_.set_generation(std::move(generation));
  write_document(out_ + "/job.json", job_);
  if (!steward_) return launcher_.launch({});
  GenerationResult result = launcher_.launch([this] { return next_death(); });
  if (!result.was_planned || result.end != GenerationResult::End::environment_error) return result;
  result.drawn = steward_->end_of_generation();
  result.message = describe(*result.drawn);
  result.failed_rank = -1;
  return result;
}

/// Since the job began; none: it has not.
std::optional<Seconds> MeasuredGenerations::now() const {
  const Generation& generation = *job_.generation();
  std::optional<double> first_s = generation.first_start_s;
  if (*first_s == 0.0) first_s = start_in(out_, generation.number());
  if (!first_s) return std::nullopt;
  const std::chrono::duration<double> since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return Seconds(since_epoch.count() - *first_s);
}

std::optional<PlannedDeath> MeasuredGenerations::next_death() const {
  const auto& end = steward_->end_of_generation();
  const auto time = end ? now() : std::nullopt;
  if (!time) return std::nullopt;
  return PlannedDeath{rank_of(*end), end->at - *time};
}

/// A rank on the machine that departs. For a machine that has come up, any rank ends the launch.
Rank MeasuredGenerations::rank_of(const RestartSteward::End& end) const {
  if (!end.roles.empty()) {
    const auto& assignments = job_.roster().assignments();
    return static_cast<Rank>(std::ranges::find(assignments, end.host, &RankAssignment::host) -
                             assignments.begin());
  }
  const auto& members = steward_->members();
  const auto found = std::ranges::find(members, end.slot);
  const auto index = found == members.end() ? 0 : found - members.begin();
  return job_.roster().workers()[static_cast<std::size_t>(index)];
}

std::optional<ResumePoint> MeasuredGenerations::restart_point(GenerationResult& result) {
  launcher_.clean();
  if (!result.drawn || !result.drawn->how) return find_restart_point(job_);
  const auto before = find_restart_point(job_);
  lose_machines(job_, {result.drawn->slot});
  auto after = find_restart_point(job_);
  result.note_loss(before, after);
  return after;
}

/// Deaths of workers, in the generation that has just ended.
std::vector<SlotDeath> MeasuredGenerations::deaths_of(const GenerationResult& result) const {
  const auto workers = job_.roster().workers();
  const auto slots = present_slots(job_, *job_.generation());
  const Seconds at = now().value_or(Seconds(0));
  std::vector<SlotDeath> deaths;
  for (std::size_t index = 0; index < workers.size(); ++index) {
    const bool with_machine = std::ranges::count(result.lost_ranks, workers[index]) > 0;
    if (with_machine || workers[index] == result.failed_rank)
      deaths.push_back({.at = at, .slot = slots[index], .with_machine = with_machine});
  }
  return deaths;
}

/// What happens to machines does not depend on the job, so all of it is decided again, with these deaths.
/// Returns when the next generation begins; none: the workers are the same, as soon as it can. Errors:
/// WorldError when the policy gives up.
std::optional<Seconds> MeasuredGenerations::decide_on_deaths(const GenerationResult& result) {
  const auto deaths = deaths_of(result);
  const Generation& generation = *job_.generation();
  const std::size_t all = generation.hosts.empty() ? job_.roster().workers().size() : generation.hosts.size();
  if (deaths.empty() || static_cast<std::size_t>(job_.spec().experiment.recovery.least) >= all)
    return std::nullopt;
  deaths_.insert(deaths_.end(), deaths.begin(), deaths.end());
  steward_.emplace(steward_after(job_, is_revoked_, deaths_));
  std::optional<Seconds> next;
  while (steward_->end_of_generation() && steward_->end_of_generation()->at <= deaths.front().at)
    next = steward_->begin_next();
  return next;
}

/// After a death without a drawn departure: waits for machines that depart during the pause. In place, these
/// are needed ones, and the steward of the next launch knows which workers there are. Returns until when;
/// none: none departs.
std::optional<Seconds> MeasuredGenerations::pass_departures(Seconds pause) {
  std::optional<Seconds> next;
  const auto time = now();
  while (steward_ && time && steward_->end_of_generation() &&
         steward_->end_of_generation()->at <= *time + pause) {
    if (const auto& end = *steward_->end_of_generation(); end.how)
      has_lost_more_ = lose_machines(job_, {end.slot}) || has_lost_more_;
    next = steward_->begin_next();
    has_lost_more_ = lose_machines(job_, steward_->departed_meanwhile()) || has_lost_more_;
  }
  return next;
}

Seconds MeasuredGenerations::decide_next(const GenerationResult& result, Seconds pause) {
  has_lost_more_ = false;
  if (!result.drawn) {
    auto next = continuation_of(job_) == Continuation::in_place ? std::nullopt : decide_on_deaths(result);
    if (!next) next = pass_departures(pause);
    if (next) pause = std::max(pause, *next - now().value_or(*next));
    return pause;
  }
  const Seconds next = steward_->begin_next();
  has_lost_more_ = lose_machines(job_, steward_->departed_meanwhile());
  return next - now().value_or(next);
}

void MeasuredGenerations::write_membership(bool as_drawn) {
  if (!steward_) return;
  const auto until = as_drawn ? std::nullopt : std::optional(now().value_or(Seconds(0)));
  if (const auto problem = write_known_membership(out_, *steward_, until); !problem.empty()) notify(problem);
}

}  // namespace tandem

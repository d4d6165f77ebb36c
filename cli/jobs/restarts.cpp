#include "cli/jobs/restarts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "cli/jobs/resume.hpp"
#include "cli/machines/clean.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "policies/lifetimes/catalog.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/process/signals.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/restart_point.hpp"
#include "workloads/data/tier_index.hpp"
#include "workloads/job/plan/fates_of_job.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/job/plan/recovery_plan.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"
#include "workloads/job/plan/zones.hpp"
#include "workloads/records/membership_file.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Seconds shortest_pause{1.0};
constexpr Seconds longest_pause{60.0};
/// Deaths in a row before the same checkpoint: more would follow.
constexpr int most_deaths = 3;

/// On one line, with the role of the rank.
std::string reason_of(const LaunchResult& result, const Job& job) {
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

/// The signal that arrived meanwhile, if any.
std::optional<int> wait(const SignalReader& signals, Seconds pause) {
  const auto end = Clock::now() + std::chrono::duration<double>(pause.count());
  for (;;) {
    if (const auto signal = signals.next()) return signal;
    const std::chrono::duration<double> left = end - Clock::now();
    if (left.count() <= 0.0) return std::nullopt;
    signals.wait_for(Seconds(left.count()));
  }
}

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

/// The present generation, which has ended.
EndedGeneration ended_generation(const Job& job, const Generation& generation, const std::string& reason,
                                 const GenerationResult& result) {
  const ResumePoint* const from = job.resume();
  EndedGeneration ended{.began = {},
                        .round = from == nullptr ? 0 : from->round,
                        .launched = generation.launched,
                        .reason = reason,
                        .lost_samples = result.lost_samples,
                        .slots = generation.slots,
                        .lost_commit = result.lost_commit};
  if (from != nullptr) ended.deals = from->deals;
  if (!result.drawn && result.failed_rank >= 0) ended.died_on = job.roster().host_of(result.failed_rank);
  return ended;
}

/// The slots that `generation` does not say: all.
std::vector<int> present_slots(const Job& job, const Generation& generation) {
  if (!generation.slots.empty()) return generation.slots;
  std::vector<int> slots(job.roster().workers().size());
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

/// The same job with another experiment, which has not begun. Errors: ConfigError.
Job with_experiment(const Job& job, Experiment experiment) {
  LoadedJob loaded{std::move(experiment), job.spec().platform};
  const auto network = network_of_workers(loaded);
  Job next(std::move(loaded.experiment), std::move(loaded.platform), job.spec().directory, network);
  if (job.records_losses()) next.record_losses();
  return next;
}

/// With the workers in these slots. `generation`: with its `hosts`. Errors: WorldError if so few cannot have
/// the job.
Job with_members(const Job& job, const Generation& generation, const std::vector<int>& slots) {
  Experiment experiment = job.spec().experiment;
  experiment.placement.workers = generation.hosts;
  try {
    return with_experiment(job, with_workers_in(std::move(experiment), slots));
  } catch (const ConfigError& error) {
    throw WorldError(
        fmt::format("the job gives up: it cannot continue with {} workers: {}", slots.size(), error.what()));
  }
}

/// Errors: WorldError if so few cannot have the job.
void expect_workers(const Job& job, const std::vector<int>* members) {
  const Generation& present = *job.generation();
  if (members == nullptr || *members == present_slots(job, present)) return;
  Generation generation = present;
  if (generation.hosts.empty()) generation.hosts = job.spec().experiment.placement.workers;
  with_members(job, generation, *members);
}

/// The first generation, with the workers in these slots alone.
void begin_with(Job& job, const std::string& out, const std::vector<int>& slots) {
  Generation generation = *job.generation();
  generation.hosts = job.spec().experiment.placement.workers;
  Job next = with_members(job, generation, slots);
  if (generation.origin) {
    generation.origin = origin_for_generation(job, next);
    next.resume_from(*generation.origin);
  }
  generation.slots = slots;
  job = std::move(next);
  job.set_generation(std::move(generation));
  write_document(out + "/job.json", job);
}

/// The job as its next generation. `point`: none: from the beginning. `members`: the slots of its workers;
/// null: as before.
void begin_next(Job& job, const std::string& out, const std::string& reason,
                const std::optional<ResumePoint>& point, const GenerationResult& result,
                const std::vector<int>* members) {
  Generation generation = *job.generation();
  const auto start = start_in(out, generation.number());
  const bool is_first = std::ranges::none_of(
      generation.ended, [](const EndedGeneration& earlier) { return earlier.began.has_value(); });
  if (start && is_first) generation.first_start_s = *start;
  EndedGeneration ended = ended_generation(job, generation, reason, result);
  if (start) ended.began = Seconds(std::max(0.0, *start - generation.first_start_s));
  return_to(job, point);
  mark_failed(out, reason);
  const auto before = present_slots(job, generation);
  const bool changes = members != nullptr && *members != before;
  // Where nothing is left, also what other workers had done before.
  const bool begins_anew = !point && !generation.origin && job.resume() != nullptr;
  if (changes && generation.hosts.empty()) generation.hosts = job.spec().experiment.placement.workers;
  std::optional<Job> others;
  if (changes || (begins_anew && !generation.hosts.empty()))
    others.emplace(with_members(job, generation, changes ? *members : before));
  else if (begins_anew && recovers_in_place(job))
    others.emplace(with_experiment(job, job.spec().experiment));
  Job& next = others ? *others : job;
  // All checkpoints may be lost with the machines that had them.
  generation.continues = point.has_value();
  generation.moves.clear();
  if (point) {
    ResumePoint own = for_generation(*point, job, next);
    if (!generation.hosts.empty()) generation.moves = moves_for_generation(own, job, next);
    next.resume_from(std::move(own));
  } else if (generation.origin)
    next.resume_from(origin_for_generation(job, next));
  else
    next.begin_anew();
  if (changes) generation.slots = *members;
  generation.ended.push_back(std::move(ended));
  if (others) job = std::move(*others);
  job.set_generation(std::move(generation));
  write_document(out + "/job.json", job);
}

std::vector<std::string> hosts_of_workers(const Job& job) {
  std::vector<std::string> hosts;
  for (const Rank worker : job.roster().workers()) hosts.push_back(job.roster().host_of(worker));
  return hosts;
}

/// As machines are drawn, with these deaths.
RestartSteward steward_of(const Job& job, const std::vector<SlotDeath>& deaths) {
  std::vector<RestartSteward::Needed> needed;
  for (NeededMachine& machine : needed_machines(job))
    needed.push_back({std::move(machine.host), std::move(machine.roles)});
  auto hosts = hosts_of_workers(job);
  const std::size_t slots = hosts.size() + needed.size();
  // In place, a rank of the job asks the policy.
  auto policy = recovers_in_place(job) ? nullptr : make_recovery_policy(job);
  return {Machines(job.spec().experiment.transience, fates_of(job), slots, deaths), std::move(policy),
          std::move(hosts), std::move(needed)};
}

/// The same where processes have died by themselves. `job`: any of its generations. `is_revoked`: machines
/// depart as they are drawn; otherwise they stay.
RestartSteward steward_after(const Job& job, bool is_revoked, const std::vector<SlotDeath>& deaths) {
  const JobSpec& spec = job.spec();
  Experiment experiment = whole_experiment(job);
  // Machines stay for the policy too, as its replay expects.
  if (!is_revoked) experiment.transience = {};
  const Job whole(JobSpec{std::move(experiment), spec.platform, spec.directory, spec.data_memory},
                  std::nullopt);
  if (is_revoked) return steward_of(whole, deaths);
  auto fates = lifetimes::make_fates("never", {}, spec.experiment.seed, zones_of(whole));
  auto hosts = hosts_of_workers(whole);
  return {Machines({}, std::move(fates), hosts.size(), deaths), make_recovery_policy(whole),
          std::move(hosts)};
}

/// An error that a rank reports (a full disk; the steward gives up) ends a job that recovers in place.
bool may_start_again(const Job& job, const GenerationResult& result) {
  if (result.exit_code != exit_environment_error) return false;
  return !recovers_in_place(job) || result.drawn || result.rank_died || !result.lost_machine.empty();
}

}  // namespace

std::string advice_after_death(const Job& job, const GuardedResult& result) {
  if (!result.rank_died || !recovers_in_place(job) || outlives_ranks(job)) return "";
  return job.real_math() ? "with checkpoint.policy (for example --set checkpoint.policy=fixed) `tandem run` "
                           "would continue the job by itself from its last commit"
                         : "";
}

bool outlives_ranks(const Job& job) {
  if (job.spec().experiment.is_launched_again()) return true;
  return recovers_in_place(job) && job.checkpoints().commits.is_enabled() &&
         (job.real_math() || has_drawn_generations(job));
}

bool begin_generations(Job& job) {
  if (!outlives_ranks(job)) return false;
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

void write_known_membership(const std::string& out, const RestartSteward& steward,
                            std::optional<Seconds> until) {
  std::vector<MembershipRecord> known = steward.membership();
  if (until) std::erase_if(known, [&](const MembershipRecord& change) { return change.time > *until; });
  // The error that has ended the job is the one to be told.
  try {
    add_to_membership_file(out, known);
  } catch (const std::exception& error) {
    print_note(fmt::format("what is known of the machines is not in membership.csv: {}", error.what()));
  }
}

RestartSteward make_restart_steward(const Job& job) { return steward_of(job, {}); }

std::string describe(const RestartSteward::End& end) {
  if (!end.roles.empty())
    return fmt::format("the machine of the {} on '{}' departed ({})", end.roles, end.host, to_text(*end.how));
  if (end.how)
    return fmt::format("the machine of worker {} on '{}' departed ({})", end.slot, end.host,
                       to_text(*end.how));
  return fmt::format("a machine came up for worker {} on '{}'", end.slot, end.host);
}

void add_machines(Generation& generation, const RestartSteward& steward) {
  generation.membership = steward.membership();
  generation.decisions = steward.decisions();
  generation.warnings.clear();
  const auto& members = steward.members();
  for (DrawnWarning warning : steward.warnings()) {
    const auto found = std::ranges::lower_bound(members, warning.slot);
    if (found == members.end() || *found != warning.slot) continue;
    warning.slot = static_cast<int>(found - members.begin());
    generation.warnings.push_back(warning);
  }
}

bool lose_machines(const Job& job, const std::vector<int>& slots) {
  const std::vector<std::string> hosts = hosts_of_machines(job);
  bool has_lost = false;
  for (const int slot : slots) {
    const std::string& host = hosts.at(static_cast<std::size_t>(slot));
    for (const Rank node : job.roster().ranks_of(Roster::Role::cache_node))
      if (job.spec().experiment.data.keep && job.roster().host_of(node) == host)
        lose_tier(job.spec().directory, job.roster().assignment(node).index);
    if (job.checkpoints().commits.are_on_machines()) has_lost = lose_machine(job, host) || has_lost;
  }
  return has_lost;
}

void GenerationResult::note_loss(const std::optional<ResumePoint>& before,
                                 const std::optional<ResumePoint>& after) {
  if (!before || (after && after->round >= before->round)) return;
  lost_commit = std::max(lost_commit.value_or(0), before->round);
}

MeasuredGenerations::MeasuredGenerations(Job& job, std::string out, Launch launch)
    : job_(job),
      out_(std::move(out)),
      launch_(std::move(launch)),
      is_revoked_(job.spec().experiment.run.revoke == RevokeMode::kill),
      signals_(ending_signals) {
  if (is_revoked_ || (recovers_in_place(job) && has_drawn_generations(job)))
    steward_.emplace(make_restart_steward(job));
}

const std::vector<int>* MeasuredGenerations::members() const {
  return steward_ && !recovers_in_place(job_) ? &steward_->members() : nullptr;
}

GenerationResult MeasuredGenerations::launch() {
  if (job_.generation()->number() == 0) return launch_once();
  try {
    return launch_once();
  } catch (const WorldError& error) {
    // A later launch may find a machine that does not answer.
    GenerationResult result;
    result.exit_code = exit_environment_error;
    result.rank_died = true;
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
  if (!steward_) return launch_({});
  GenerationResult result = launch_([this] { return next_kill(); });
  if (!result.rank_was_killed || result.exit_code != exit_environment_error) return result;
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

std::optional<PlannedKill> MeasuredGenerations::next_kill() const {
  const auto& end = steward_->end_of_generation();
  const auto time = end ? now() : std::nullopt;
  if (!time) return std::nullopt;
  return PlannedKill{rank_of(*end), end->at - *time};
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
  remove_leftovers(false);
  if (!result.drawn || !result.drawn->how) return find_restart_point(job_);
  const auto before = find_restart_point(job_);
  lose_machines(job_, {result.drawn->slot});
  auto after = find_restart_point(job_);
  result.note_loss(before, after);
  return after;
}

/// Of workers, in the generation that has just ended.
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

/// After a death that nobody drew: machines that depart during the pause are waited for. In place, these are
/// needed ones, and the steward of the next launch knows which workers there are. Returns until when; none:
/// none departs.
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
    auto next = recovers_in_place(job_) ? std::nullopt : decide_on_deaths(result);
    if (!next) next = pass_departures(pause);
    if (next) pause = std::max(pause, *next - now().value_or(*next));
    return pause;
  }
  const Seconds next = steward_->begin_next();
  has_lost_more_ = lose_machines(job_, steward_->departed_meanwhile());
  return next - now().value_or(next);
}

std::optional<int> MeasuredGenerations::wait(Seconds pause) { return tandem::cli::wait(signals_, pause); }

void MeasuredGenerations::write_membership(bool as_drawn) {
  if (steward_)
    write_known_membership(out_, *steward_,
                           as_drawn ? std::nullopt : std::optional(now().value_or(Seconds(0))));
}

void MeasuredGenerations::tell(const std::string& note) { print_note(note); }

namespace {

GenerationResult run_generations(Job& job, const std::string& out, GenerationWorld& world) {
  const int most = job.spec().experiment.recovery.restarts;
  const std::int64_t first_round = job.resume() == nullptr ? 0 : job.resume()->round;
  Attempts attempts(first_round);
  if (const auto* members = world.members();
      members != nullptr && *members != present_slots(job, *job.generation())) {
    world.tell(fmt::format("the job begins with {} of {} workers: {}", members->size(),
                           job.roster().workers().size(), fmt::join(*members, ", ")));
    begin_with(job, out, *members);
  }
  GenerationResult result = world.launch();
  while (may_start_again(job, result)) {
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
      expect_workers(job, world.members());
    } catch (const WorldError& error) {
      result.message = reason + "\n  " + error.what();
      return result;
    }
    world.tell(fmt::format("{}; the job starts again from {} as generation {}{}{}", reason,
                           place_of(attempts.round()), number + 1, loss_of(result), gap_of(job, point)));
    if (const auto signal = world.wait(pause)) {
      result.exit_code = 128 + *signal;
      result.message = fmt::format("ended by signal {}", *signal);
      return result;
    }
    if (world.has_lost_more()) {
      const auto before = std::move(point);
      const auto lost_before = result.lost_commit;
      point = world.restart_point(result);
      result.note_loss(before, point);
      const std::string loss = result.lost_commit == lost_before ? "" : loss_of(result);
      world.tell(fmt::format("another machine was lost meanwhile: generation {} starts from {}{}", number + 1,
                             place_of(point ? point->round : first_round), loss));
    }
    const auto slots = job.generation()->slots;
    try {
      begin_next(job, out, reason, point, result, world.members());
    } catch (const WorldError& error) {
      result.message = reason + "\n  " + error.what();
      return result;
    }
    if (const Generation& next = *job.generation(); next.slots != slots)
      world.tell(fmt::format("generation {} has {} of {} workers: {}", next.number(), next.slots.size(),
                             next.hosts.size(), fmt::join(next.slots, ", ")));
    result = world.launch();
  }
  return result;
}

}  // namespace

GenerationResult launch_generations(Job& job, const std::string& out, GenerationWorld& world) {
  try {
    GenerationResult result = run_generations(job, out, world);
    // After a signal, what is drawn for the pause has not happened yet.
    const bool as_drawn = result.drawn.has_value() && result.exit_code < exit_of_signal;
    if (result.exit_code != exit_success) world.write_membership(as_drawn);
    return result;
  } catch (const WorldError&) {
    world.write_membership(false);
    throw;
  }
}

}  // namespace tandem::cli

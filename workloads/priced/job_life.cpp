#include "workloads/priced/job_life.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/job/plan/fates_of_job.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/job/plan/recovery_plan.hpp"
#include "workloads/membership/generations/drawn_machines.hpp"
#include "workloads/membership/generations/simulated_generations.hpp"
#include "workloads/membership/restart_steward.hpp"
#include "workloads/priced/prediction.hpp"

namespace tandem::priced {
namespace {

/// Rounds between commits of a job; 0: it does not commit.
std::int64_t rounds_between_commits(const Job& job) {
  const CommitPlan& plan = job.checkpoints().commits;
  const Experiment& experiment = job.spec().experiment;
  if (!needed_machines(job).empty()) has_no_form("machines without workers that depart (tandem:lifetime)");
  if (!plan.is_enabled()) {
    if (continuation_of(job) == Continuation::restart_on_departure)
      has_no_form("recovery.mode restart without checkpoint.policy");
    return 0;
  }
  if (plan.mode != CommitMode::blocking) has_no_form("checkpoint.mode background");
  if (plan.are_on_machines()) has_no_form("checkpoint.to " + to_text(experiment.checkpoint.to));
  const auto rounds = checkpointing::rounds_between_commits(plan.policy, plan.options);
  if (!rounds) has_no_form("checkpoint.policy " + plan.policy + "; fixed in rounds has one");
  return *rounds;
}

/// The fates of others on a slower, or faster, clock.
class StretchedFates final : public lifetimes::Fates {
 public:
  StretchedFates(std::unique_ptr<lifetimes::Fates> fates, double factor)
      : fates_(std::move(fates)), factor_(factor) {}
  double obtainable(std::size_t slot, double time) override {
    return std::max(time, fates_->obtainable(slot, time / factor_) * factor_);
  }
  void arrive(lifetimes::Occupant occupant, double time) override {
    fates_->arrive(occupant, time / factor_);
  }
  void depart(std::size_t slot, double time) override { fates_->depart(slot, time / factor_); }
  std::optional<lifetimes::Departure> next() const override { return stretched(fates_->next()); }
  std::optional<lifetimes::Departure> known(std::size_t slot) const override {
    return stretched(fates_->known(slot));
  }

 private:
  std::optional<lifetimes::Departure> stretched(std::optional<lifetimes::Departure> departure) const {
    if (departure) departure->time *= factor_;
    return departure;
  }

  std::unique_ptr<lifetimes::Fates> fates_;
  double factor_;
};

/// One life, as it passes.
class Course {
 public:
  Course(const Job& job, const LifeSetting& setting, const CommitTimes& commit, std::int64_t every,
         std::uint64_t seed, const Change& change)
      : job_(job), setting_(setting), commit_(commit), every_(every), seed_(seed), change_(change) {
    for (const Rank worker : job.roster().workers()) {
      hosts_.push_back(job.roster().host_of(worker));
      machines_.push_back(platforms::machine_of(job.devices().host_of(worker)));
    }
    begun_.resize(hosts_.size());
    for (const WorkOfRound& work : setting.work) {
      Seconds computing{0.0};
      for (const Seconds phase : work.phases) computing += phase;
      first_push_ = std::min(first_push_, computing * change.rounds);
    }
    if (setting.most_times > 0.0)
      latest_ = time_of(round_of(first_slots()), 0, setting.rounds) * setting.most_times;
  }

  Life undisturbed() {
    const std::vector<int> all = first_slots();
    const Seconds round = round_of(all);
    train(all, Seconds(0.0), round, 0, setting_.rounds);
    return ended(time_of(round, 0, setting_.rounds));
  }

  // ---- In place ----

  Life in_place() {
    const auto slots = static_cast<int>(hosts_.size());
    Membership members({.workers = slots,
                        .slots = slots,
                        .has_deadline = job_.spec().experiment.recovery.give_up > Seconds(0)},
                       machines(), make_recovery_policy(job_));
    note(members, members.begin(static_cast<int>(job_.roster().first_workers().size())));
    Seconds now{0.0}, held{0.0};  // Until the latter, a round waits for a worker that has joined in it.
    Seconds last_round{0.0};
    double done = 0.0;
    const auto take = [&] {
      const Membership::Step step = members.take();
      note(members, step);
      held = std::max(held, wait_for_newcomers(step, last_round, done));
    };
    for (int events = 0; life_.gave_up.empty(); ++events) {
      const auto next = members.next();
      // What happens at one time is one change, such as the departure of all workers of a machine.
      if (next && *next <= now && events <= most_events) {
        take();
        continue;
      }
      const std::vector<int> working = at_work(members);
      const Seconds round = working.empty() ? Seconds(0.0) : with_commits(round_of(working));
      if (!working.empty()) last_round = round;
      const Seconds begin = std::max(now, held);
      const Seconds end = begin + round * (static_cast<double>(setting_.rounds) - done);
      const bool ends = !working.empty() && (!next || end <= *next);
      if (!ends && (!next || members.waits_in_vain(now)))
        return give_up("the job gives up: no machine can come up any more", now);
      if (events > most_events)
        return give_up("the job gives up: machines depart faster than it advances", now);
      if (latest_ && now > *latest_) {
        cut();
        break;
      }
      const Seconds until = ends ? end : std::max(now, *next);
      const double rounds = working.empty() ? 0.0 : std::max(0.0, (until - begin) / round);
      const bool commits_at_end = ends && every_ > 0 && job_.checkpoints().commits.at_end;
      const Seconds after = until + (commits_at_end ? commit_.write : Seconds(0.0));
      add_work(working, now, after - now, rounds,
               every_ > 0 ? rounds / static_cast<double>(every_) + (commits_at_end ? 1.0 : 0.0) : 0.0);
      done += rounds;
      now = after;
      if (ends) break;
      take();
    }
    if (!life_.gave_up.empty()) return give_up(life_.gave_up, now);
    // Those between the rounds are in their durations.
    life_.commits = commits_after(0, setting_.rounds);
    return ended(now);
  }

  // ---- Starting again ----

  Life generations() {
    std::optional<RestartSteward> steward;
    try {
      steward.emplace(machines(), make_recovery_policy(job_), hosts_);
      run_generations(*steward);
    } catch (const WorldError& error) {
      life_.gave_up = error.what();
      life_.is_cut = dynamic_cast<const RestartSteward::TooLate*>(&error) != nullptr;
    }
    // Once: it has the rows of all generations.
    if (steward) life_.journal.membership = steward->membership();
    return ended(last_);
  }

 private:
  static constexpr int most_events = 1'000'000;

  Seconds round_of(const std::vector<int>& slots) const { return setting_.round(slots) * change_.rounds; }

  Machines machines() const {
    auto fates = fates_of(job_, seed_);
    if (change_.lives != 1.0) fates = std::make_unique<StretchedFates>(std::move(fates), change_.lives);
    return {job_.spec().experiment.transience, std::move(fates), hosts_.size()};
  }

  /// Until last_.
  void run_generations(RestartSteward& steward) {
    Seconds began{0.0};
    std::optional<Seconds> launched;
    std::int64_t round = 0;
    for (std::int64_t number = 0;; ++number) {
      const Seconds duration = round_of(steward.members());
      life_.generations.push_back(
          {.number = number, .launched = launched.value_or(Seconds(0.0)), .began = began, .round = round});
      const Seconds start = began + (round > 0 ? commit_.read : Seconds(0.0));
      const Seconds done = start + time_of(duration, round, setting_.rounds);
      const auto& end = steward.end_of_generation();
      if (!end || done <= end->at) {
        train(steward.members(), start, duration, round, setting_.rounds);
        last_ = done;
        return;
      }
      last_ = end->at;
      const std::int64_t kept = committed_by(end->at - start, duration, round);
      train(steward.members(), start, duration, round, kept);
      lose(steward.members(), (end->at - start - time_of(duration, round, kept)) / with_commits(duration));
      round = kept;
      life_.generations.back().ended = describe(*end);
      if (number >= job_.spec().experiment.recovery.restarts) {
        life_.gave_up = "the job gives up: it starts again more than " + std::to_string(number) +
                        " times (recovery.restarts)";
        return;
      }
      if (latest_ && last_ > *latest_) return cut();
      launched = steward.begin_next(latest_);
      began = *launched + launch_time_of(job_);
    }
  }

  /// The round of the last complete commit of a generation that continued from round `from`.
  std::int64_t committed_by(Seconds time, Seconds round, std::int64_t from) const {
    if (every_ == 0 || time <= Seconds(0.0)) return from;
    const Seconds each = round * static_cast<double>(every_) + commit_.write;
    const auto commits = static_cast<std::int64_t>(time / each);
    const std::int64_t last = (setting_.rounds - 1) / every_ * every_;
    return std::max(from, std::min(from + commits * every_, last));
  }

  /// Commits after the round `from` until the round `until`. The job may end without one.
  std::int64_t commits_after(std::int64_t from, std::int64_t until) const {
    if (every_ == 0) return 0;
    const bool is_end = until == setting_.rounds;
    const bool at_end = is_end && (job_.checkpoints().commits.at_end || until % every_ == 0);
    return (is_end ? until - 1 : until) / every_ - from / every_ + (at_end ? 1 : 0);
  }

  /// The time of the rounds after `from` until `until`, with their commits.
  Seconds time_of(Seconds round, std::int64_t from, std::int64_t until) const {
    return round * static_cast<double>(until - from) +
           commit_.write * static_cast<double>(commits_after(from, until));
  }

  Seconds with_commits(Seconds round) const {
    return every_ == 0 ? round : round + commit_.write * (1.0 / static_cast<double>(every_));
  }

  /// Rounds that are done again, not whole ones.
  void lose(const std::vector<int>& slots, double rounds) {
    rounds = std::max(rounds, 0.0);
    life_.lost_rounds += rounds;
    double samples = 0.0;
    for (const int slot : slots)
      if (!setting_.work.empty()) samples += setting_.work[static_cast<std::size_t>(slot)].samples;
    // Samples of finished rounds.
    life_.generations.back().lost_samples = static_cast<std::int64_t>(samples * std::floor(rounds));
  }

  void train(const std::vector<int>& slots, Seconds start, Seconds round, std::int64_t from,
             std::int64_t until) {
    if (until == from) return;
    const std::int64_t commits = commits_after(from, until);
    life_.commits += commits;
    add_work(slots, start, time_of(round, from, until), static_cast<double>(until - from),
             static_cast<double>(commits));
  }

  /// The members that train: none while the job waits.
  std::vector<int> at_work(const Membership& members) const {
    if (members.is_paused()) return {};
    std::vector<int> working;
    for (const int slot : members.members()) {
      if (members.has_machine(slot))
        working.push_back(slot);
      else if (setting_.waits_for_all)
        return {};  // The round waits for it until its departure is noticed.
    }
    return working;
  }

  void note(const Membership& members, const Membership::Step& step) {
    using What = MemberAction::What;
    for (const MemberAction& action : step.actions) {
      if (action.what == What::gave_up) life_.gave_up = "the job gives up: " + action.why;
      if (action.slot < 0) continue;
      const bool is_machine = action.what == What::machine;
      life_.journal.membership.push_back(
          {.time = action.at,
           .slot = action.slot,
           .incarnation = members.incarnation(action.slot),
           .host = hosts_[static_cast<std::size_t>(action.slot)],
           .event = is_machine ? to_text(action.machine.what) : to_text(action.what),
           .cause = is_machine ? cause_text(action.machine) : "",
           .view = action.view,
           .role = "worker"});
    }
  }

  /// A worker that joins before the first push of a round to servers takes a step in it, and the others wait
  /// for that step if they wait for all. Returns until when.
  Seconds wait_for_newcomers(const Membership::Step& step, Seconds round, double done) {
    const Seconds begun = round * (done - std::floor(done));
    Seconds until{0.0};
    if (!setting_.waits_for_all || job_.exchange().route() != sync::Route::server || begun >= first_push_)
      return until;
    for (const MemberAction& action : step.actions) {
      if (action.what != MemberAction::What::joined || begun <= Seconds(0.0)) continue;
      until = action.at + begun;
      // Its step is a whole one; that of the others has been counted to here.
      begun_[static_cast<std::size_t>(action.slot)] = begun / round;
    }
    return until;
  }

  /// So many rounds of these with so many commits, which are one at the end.
  void add_work(const std::vector<int>& slots, Seconds start, Seconds duration, double rounds,
                double commits) {
    if (setting_.work.empty() || duration <= Seconds(0.0)) return;
    const Seconds end = start + duration, committing = commit_.write * commits;
    for (const int slot : slots)
      add_steps(slot, start, duration - committing,
                rounds + std::exchange(begun_[static_cast<std::size_t>(slot)], 0.0));
    if (committing <= Seconds(0.0)) return;
    CommitRecord& commit = life_.journal.commits.emplace_back();
    commit.started = end - committing;
    commit.ended = end;
    commit.blocked = committing;
  }

  void add_steps(int slot, Seconds start, Seconds duration, double rounds) {
    const WorkOfRound& work = setting_.work[static_cast<std::size_t>(slot)];
    const auto of = [&](double each) { return static_cast<std::int64_t>(each * rounds); };
    StepRecord& step = life_.journal.steps.emplace_back();
    step.rank = job_.roster().workers()[static_cast<std::size_t>(slot)];
    step.step = job_.spec().experiment.warmup_steps;
    step.round = static_cast<int>(life_.generations.size());
    step.start = start;
    Seconds working{0.0};
    for (std::size_t phase = 0; phase < phase_count; ++phase)
      working += step.phases[phase] = work.phases[phase] * (rounds * change_.rounds);
    step.phases[static_cast<std::size_t>(Phase::exchange)] += std::max(Seconds(0.0), duration - working);
    step.samples = static_cast<int>(of(work.samples));
    step.bytes_sent = of(work.bytes_sent);
    step.bytes_received = of(work.bytes_received);
  }

  Life ended(Seconds now) {
    life_.makespan = now;
    life_.journal.counted_rounds = setting_.rounds;
    std::erase_if(life_.journal.membership, [&](const MembershipRecord& row) { return row.time > now; });
    std::set<std::pair<double, std::string>> departures;
    for (const MembershipRecord& row : life_.journal.membership)
      if (row.event == "departed")
        departures.emplace(row.time.count(), machines_[static_cast<std::size_t>(row.slot)]);
    life_.departures = std::ssize(departures);
    return std::move(life_);
  }

  void cut() {
    life_.is_cut = true;
    life_.gave_up = "the job gives up: it takes too long";
  }

  std::vector<int> first_slots() const {
    std::vector<int> slots;
    for (int slot = 0; slot < std::ssize(job_.roster().first_workers()); ++slot) slots.push_back(slot);
    return slots;
  }

  Life give_up(std::string why, Seconds now) {
    life_.gave_up = std::move(why);
    return ended(now);
  }

  const Job& job_;
  const LifeSetting& setting_;
  const CommitTimes& commit_;
  std::int64_t every_;
  std::uint64_t seed_;
  Change change_;
  std::vector<std::string> hosts_, machines_;  ///< by slot
  std::optional<Seconds> latest_;              ///< when the life is cut off
  std::vector<double> begun_;                  ///< by slot: the part of a round that a newcomer repeats
  /// Of a round, since its begin; infinite: not known.
  Seconds first_push_{std::numeric_limits<double>::infinity()};
  Seconds last_{0.0};  ///< when the last generation ended, of a job that starts again
  Life life_ = {};
};

}  // namespace

CommitTimes commit_times(const Job& job) {
  struct Disk {
    Seconds write, read;
  };
  // By host, of one stage each.
  std::map<std::string, Disk> of_servers, of_workers;
  CommitTimes times;
  for (Rank rank = 0; rank < job.roster().size(); ++rank) {
    if (!has_part_in_commits(job, rank)) continue;
    const DiskAccess access = DiskAccess::of_state(commit_size(job, rank));
    const std::string& host = job.roster().host_of(rank);
    times.size += access.size;
    const auto disk = job.devices().disk_of(rank);
    if (!disk) {
      if (std::ranges::find(times.without_disk, host) == times.without_disk.end())
        times.without_disk.push_back(host);
      continue;
    }
    const bool is_worker = job.roster().assignment(rank).role == Roster::Role::worker;
    Disk& used = (is_worker ? of_workers : of_servers)[host];
    const Seconds latency = job.devices().disk_service(rank, *disk).latency;
    used.write += latency + job.devices().disk_moving(rank, *disk, access, true);
    used.read += latency + job.devices().disk_moving(rank, *disk, access, false);
  }
  for (const auto* stage : {&of_servers, &of_workers}) {
    Disk most;
    for (const auto& [host, disk] : *stage) {
      most.write = std::max(most.write, disk.write);
      most.read = std::max(most.read, disk.read);
    }
    times.write += most.write;
    times.read = std::max(times.read, most.read);
  }
  return times;
}

JobLife::JobLife(const Job& job, LifeSetting setting) : job_(job), setting_(std::move(setting)) {
  every_ = rounds_between_commits(job);
  if (every_ > 0) commit_ = commit_times(job);
}

Life JobLife::live(std::uint64_t seed, const Change& change) const {
  Course course(job_, setting_, commit_, every_, seed, change);
  switch (continuation_of(job_)) {
    case Continuation::in_place:
      return course.in_place();
    case Continuation::restart_on_departure:
      return course.generations();
    case Continuation::none:
    case Continuation::restart_on_death:
      break;
  }
  return course.undisturbed();
}

}  // namespace tandem::priced

#include "workloads/checkpoint/restart_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/dealt_parts.hpp"
#include "workloads/checkpoint/other_workers.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using Role = RankAssignment::Role;

std::string own_directory(const Job& job) {
  fs::path path = fs::absolute(job.spec().directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.string();
}

Job with_workers(const Job& job, const std::vector<int>& slots) {
  const JobSpec& spec = job.spec();
  return Job(
      JobSpec{with_workers_in(whole_experiment(job), slots), spec.platform, spec.directory, spec.data_memory},
      std::nullopt);
}

/// The generation that has written a checkpoint: the last one that continued from an earlier round.
class Writer {
 public:
  /// `job`: its present generation, which must outlive this.
  Writer(const Job& job, std::int64_t round) : present_(job) {
    const Generation& present = *job.generation();
    const ResumePoint* const from = job.resume();
    number_ = present.number();
    if (from != nullptr) deals_ = from->deals;
    std::int64_t began = from == nullptr ? 0 : from->round;
    while (round <= began && number_ > 0) {
      const EndedGeneration& ended = present.ended[static_cast<std::size_t>(--number_)];
      deals_ = ended.deals;
      began = ended.round;
    }
    if (present.hosts.empty()) return;
    if (auto slots = slots_of(present, number_); slots != present.slots) own_ = with_workers(job, slots);
  }
  /// With its workers.
  const Job& job() const { return own_ ? *own_ : present_; }
  Job take_job() { return own_ ? std::move(*own_) : with_workers(present_, present_.generation()->slots); }
  int number() const { return number_; }
  /// How samples were dealt before it dealt them.
  const std::vector<sampling::Deal>& deals() const { return deals_; }

 private:
  const Job& present_;
  std::optional<Job> own_;  ///< none: it had the present workers
  int number_ = 0;
  std::vector<sampling::Deal> deals_;
};

/// The steps of each worker at that point, as its state there says or will say.
std::vector<std::int64_t> steps_at(const Job& job, const ResumePoint& point) {
  const Roster& roster = job.roster();
  const auto state_of = [&](Rank rank) {
    return SavedState::load_numbers(state_path(job, point.directory, point.round, roster.assignment(rank)));
  };
  std::vector<std::int64_t> steps;
  if (point.workers_continue) {
    for (const Rank worker : roster.workers()) steps.push_back(state_of(worker).integer("step"));
    return steps;
  }
  if (job.exchange().route() == sync::Route::peers) {
    const std::int64_t all = state_of(roster.first_worker()).integer("exchange.steps");
    steps.assign(roster.workers().size(), all / std::ssize(roster.workers()));
    return steps;
  }
  const SavedState server = state_of(roster.deciders().front());
  for (std::size_t worker = 0; worker < roster.workers().size(); ++worker)
    steps.push_back(server.integer(fmt::format("worker.{}.steps", worker)));
  return steps;
}

/// Workers come and go, and commit on their own: each writes its records with its part of a commit.
bool commits_by_members(const Job& job) { return job.checkpoints().commits.by_members; }

/// Peers that run at different speeds start again with equal parts of the steps, whatever each recorded.
bool has_records(const Job& job, const ResumePoint& point) {
  if (commits_by_members(job)) return true;
  if (!point.workers_continue && job.exchange().route() == sync::Route::peers) return true;
  const auto steps = steps_at(job, point);
  const auto workers = job.roster().workers();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const auto marks = record_marks(point.directory, job.roster().assignment(workers[i]));
    // Servers may not have counted the last push of a worker whose machine departed.
    const auto has_all = [&](const RecordMark& mark) {
      return job.roster().steward() ? mark.steps >= steps[i] : mark.steps == steps[i];
    };
    if (steps[i] > 0 && std::ranges::none_of(marks, has_all)) return false;
  }
  return true;
}

/// The round in the name of a file that a checkpoint consists of; none: another file.
std::optional<std::int64_t> round_in(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::string_view begin = "round_";
  const auto ending = path.extension();
  if (!name.starts_with(begin) || ending == ".records" || ending == ".start") return std::nullopt;
  std::int64_t round = 0;
  const auto [rest, error] = std::from_chars(name.data() + begin.size(), name.data() + name.size(), round);
  return error == std::errc() ? std::optional(round) : std::nullopt;
}

/// Worker `index` of the generation `writer` had finished `steps` at the point of restart, which its state
/// has.
bool is_before_point(const RecordMark& mark, int writer, int index, const std::vector<std::int64_t>& steps) {
  // Earlier generations were cut when the next one began. Their workers may be others.
  if (mark.generation != writer) return mark.generation < writer;
  return mark.steps <= steps.at(static_cast<std::size_t>(index));
}

/// Which records of a rank stay when the job returns to `point`. `writer`: the generation that wrote it.
using Stays = std::function<bool(const RankAssignment&, const RecordMark&)>;
Stays records_until(const Job& job, const std::optional<ResumePoint>& point, const Writer& writer) {
  const bool by_steps = point && !commits_by_members(job);
  return [last = point ? point->round : 0, has_point = point.has_value(), by_steps,
          steps = by_steps ? steps_at(writer.job(), *point) : std::vector<std::int64_t>(),
          has_all = job.generation()->hosts.empty(),
          number = writer.number()](const RankAssignment& assignment, const RecordMark& mark) {
    if (assignment.role == Role::cache_node) return true;
    if (!has_point) return false;
    if (assignment.role != Role::worker || !by_steps) return mark.round <= last;
    if (has_all) return mark.steps <= steps.at(static_cast<std::size_t>(assignment.index));
    return is_before_point(mark, number, assignment.index, steps);
  };
}

std::int64_t samples_of(const Journal& journal) {
  std::int64_t samples = 0;
  for (const StepRecord& step : journal.steps) samples += step.samples;
  return samples;
}

/// samples_after for jobs whose workers come and go. Servers do not count steps that were lost with a
/// machine, so the samples to repeat are those without a record.
std::int64_t samples_in_place_after(const Job& job, const std::optional<ResumePoint>& point,
                                    const Journal& journal) {
  const std::string directory = own_directory(job);
  const Writer writer(job, point ? point->round : 0);
  const Stays stays = records_until(job, point, writer);
  std::int64_t samples = samples_of(journal);
  for (const Rank worker : job.roster().workers()) {
    const RankAssignment& assignment = job.roster().assignment(worker);
    samples += samples_of(records_before(directory, assignment, job.generation()->number()));
    samples -= samples_of(records_that_stay(directory, assignment,
                                            [&](const RecordMark& mark) { return stays(assignment, mark); }));
  }
  return samples;
}

/// samples_after, where generations have had other workers: each step counts as one of its own generation.
std::int64_t samples_of_generations_after(const Job& job, const std::optional<ResumePoint>& point,
                                          const Journal& journal) {
  int writer = 0;
  std::vector<std::int64_t> steps;
  if (point) {
    const Writer of_point(job, point->round);
    writer = of_point.number();
    steps = steps_at(of_point.job(), *point);
  }
  std::int64_t samples = 0;
  const auto count = [&](const Journal& done, int number) {
    for (const StepRecord& step : done.steps) {
      const bool is_new = number > writer || step.rank >= std::ssize(steps);
      if (is_new || step.step >= steps[static_cast<std::size_t>(step.rank)]) samples += step.samples;
    }
  };
  const Generation& present = *job.generation();
  count(journal, present.number());
  for (int number = writer; number < present.number(); ++number)
    for (int index = 0; index < std::ssize(slots_of(present, number)); ++index)
      count(records_before(own_directory(job), {Role::worker, index, std::string()}, number + 1, number),
            number);
  return samples;
}

/// The assignments of all ranks that the job has or had.
std::vector<RankAssignment> all_assignments(const Job& job) {
  std::vector<RankAssignment> all = job.roster().assignments();
  std::ranges::move(absent_workers(job), std::back_inserter(all));
  return all;
}

/// Removes files of checkpoints and records after that round.
void remove_after(const std::string& directory, std::int64_t last) {
  std::vector<fs::path> later;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory + "/checkpoints", error))
    if (const auto round = round_in(entry.path()); round && *round > last) later.push_back(entry.path());
  for (const auto& path : later) fs::remove(path);
}

}  // namespace

std::optional<ResumePoint> find_restart_point(const Job& job) {
  const std::string directory = own_directory(job);
  std::optional<ResumePoint> without_records;
  for (const std::int64_t round : rounds_of_job(job, directory)) {
    try {
      const Writer writer(job, round);
      ResumePoint point = find_resume_point(writer.job(), directory, round);
      point.continue_after(writer.deals());
      if (job.stop().is_reached(progress_at(writer.job(), point))) continue;
      if (has_records(writer.job(), point)) return point;
      if (job.roster().steward() && !without_records) without_records = std::move(point);
    } catch (const ConfigError&) {
      // Incomplete: ranks were killed while they wrote it.
    }
  }
  // Better without some of the records than from the beginning.
  return without_records;
}

bool lacks_records(const Job& job, const ResumePoint& point) {
  return job.roster().steward() && !has_records(Writer(job, point.round).job(), point);
}

bool lose_machine(const Job& job, const std::string& host) {
  const CommitPlan& plan = job.checkpoints().commits;
  if (!plan.are_on_machines()) return false;
  return fs::remove_all(commit_directory(plan, own_directory(job), host)) > 0;
}

std::int64_t samples_after(const Job& job, const std::optional<ResumePoint>& point, const Journal& journal) {
  const Generation& present = *job.generation();
  if (job.roster().steward()) return samples_in_place_after(job, point, journal);
  if (!present.hosts.empty()) return samples_of_generations_after(job, point, journal);
  const auto workers = job.roster().workers();
  std::vector<std::int64_t> steps(workers.size(), 0);
  if (point) steps = steps_at(job, *point);
  std::int64_t samples = 0;
  const auto count = [&](const std::vector<StepRecord>& done) {
    for (const StepRecord& step : done)
      for (std::size_t i = 0; i < workers.size(); ++i)
        if (workers[i] == step.rank && step.step >= steps[i]) samples += step.samples;
  };
  count(journal.steps);
  const std::int64_t began = job.is_restarted() ? job.resume()->round : 0;
  if (began <= (point ? point->round : 0)) return samples;
  for (const Rank worker : workers)
    count(records_before(own_directory(job), job.roster().assignment(worker), present.number()).steps);
  return samples;
}

void return_to(const Job& job, const std::optional<ResumePoint>& point) {
  const std::string directory = own_directory(job);
  const std::int64_t last = point ? point->round : 0;
  const Writer writer(job, last);
  const Stays stays = records_until(job, point, writer);
  for (const RankAssignment& assignment : all_assignments(job))
    keep_records(directory, assignment, [&](const RecordMark& mark) { return stays(assignment, mark); });
  remove_after(directory, last);
  if (!job.checkpoints().commits.are_on_machines()) return;
  for (const auto& own : commit_directories(job.checkpoints().commits, directory)) remove_after(own, last);
  // The evaluation of the commit's round may have been announced, and its model not been written.
  const std::string evaluated = checkpoint_path(directory, last);
  if (point && fs::exists(announced_path(directory, last)) && !fs::exists(evaluated))
    fs::copy_file(model_path(*point), evaluated);
}

ResumePoint for_generation(ResumePoint point, const Job& job, const Job& next) {
  const Writer writer(job, point.round);
  if (writer.job().roster().workers().size() == next.roster().workers().size()) return point;
  auto deals = std::move(point.deals);
  return for_other_workers(std::move(point), writer.job(), next, std::move(deals));
}

std::vector<PartMove> moves_for_generation(const ResumePoint& point, const Job& job, const Job& next) {
  return deal_parts(Writer(job, point.round).job(), point, next);
}

ResumePoint origin_for_generation(const Job& job, const Job& next) {
  const Generation& generation = *job.generation();
  ResumePoint point = *generation.origin;
  const bool has_all = generation.hosts.empty();
  // The workers for which the origin was made: the first generation may have fewer than the job has in all.
  const auto begun = has_all ? job.roster().workers().size() : slots_of(generation, 0).size();
  const auto now = static_cast<int>(next.roster().workers().size());
  if (now == static_cast<int>(begun)) return point;
  if (point.former_workers == 0) {
    const std::optional<Job> whole =
        has_all ? std::nullopt : std::optional(with_workers(job, slots_of(generation, 0)));
    auto deals = std::move(point.deals);
    return for_other_workers(std::move(point), whole ? *whole : job, next, std::move(deals));
  }
  // The job before had as many as this generation, not as the first one.
  if (point.former_workers == now) {
    point.former_workers = 0;
    point.deals.pop_back();
  }
  return point;
}

WrittenPoint find_resume_point_of_generations(const Job& job, const std::string& directory,
                                              std::optional<std::int64_t> round) {
  std::vector<std::string> passed_over;
  for (const std::int64_t candidate : round ? std::vector{*round} : rounds_of_job(job, directory)) {
    Writer writer(job, candidate);
    if (!round && is_only_evaluated(writer.job(), directory, candidate)) continue;
    try {
      ResumePoint point = find_resume_point(writer.job(), directory, candidate);
      point.continue_after(writer.deals());
      point.passed_over = std::move(passed_over);
      return {writer.take_job(), std::move(point)};
    } catch (const ConfigError& error) {
      if (round) throw;
      passed_over.push_back(
          fmt::format("the checkpoint of round {} cannot be used: {}", candidate, error.what()));
    }
  }
  throw ConfigError(fmt::format("{}: expected a complete checkpoint in it, found none{}", directory,
                                passed_over.empty() ? "" : "; " + passed_over.front()));
}

}  // namespace tandem

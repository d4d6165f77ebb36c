#include "workloads/checkpoint/restart_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/job/commit_plan.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using Role = RankAssignment::Role;

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

/// Peers that run at different speeds start again with equal parts of the steps, whatever each recorded.
bool has_records(const Job& job, const ResumePoint& point) {
  if (!point.workers_continue && job.exchange().route() == sync::Route::peers) return true;
  const auto steps = steps_at(job, point);
  const auto workers = job.roster().workers();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const auto marks = record_marks(point.directory, job.roster().assignment(workers[i]));
    if (steps[i] > 0 && std::ranges::find(marks, steps[i], &RecordMark::steps) == marks.end()) return false;
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

/// Removes files of checkpoints and records after that round.
void remove_after(const std::string& directory, std::int64_t last) {
  std::vector<fs::path> later;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory + "/checkpoints", error))
    if (const auto round = round_in(entry.path()); round && *round > last) later.push_back(entry.path());
  for (const auto& path : later) fs::remove(path);
}

std::string own_directory(const Job& job) {
  fs::path path = fs::absolute(job.spec().directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.string();
}

}  // namespace

std::optional<ResumePoint> find_restart_point(const Job& job) {
  const std::string directory = own_directory(job);
  for (const std::int64_t round : rounds_of_job(job, directory)) {
    try {
      ResumePoint point = find_resume_point(job, directory, round);
      if (job.resume() != nullptr) point.deals = job.resume()->deals;
      const bool is_end = job.stop().is_reached(progress_at(job, point));
      if (!is_end && has_records(job, point)) return point;
    } catch (const ConfigError&) {
      // Incomplete: ranks were killed while they wrote it.
    }
  }
  return std::nullopt;
}

bool lose_machine(const Job& job, const std::string& host) {
  const CommitPlan& plan = job.checkpoints().commits;
  if (!plan.are_on_own_disks()) return false;
  return fs::remove_all(commit_directory(plan, own_directory(job), host)) > 0;
}

std::int64_t samples_after(const Job& job, const std::optional<ResumePoint>& point, const Journal& journal) {
  const auto workers = job.roster().workers();
  const auto steps = point ? steps_at(job, *point) : std::vector<std::int64_t>(workers.size(), 0);
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
    count(records_before(own_directory(job), job.roster().assignment(worker), job.generation()->number())
              .steps);
  return samples;
}

void return_to(const Job& job, const std::optional<ResumePoint>& point) {
  const std::string directory = own_directory(job);
  const std::int64_t last = point ? point->round : 0;
  const auto steps = point ? steps_at(job, *point) : std::vector<std::int64_t>();
  for (const RankAssignment& assignment : job.roster().assignments())
    keep_records(directory, assignment, [&](const RecordMark& mark) {
      if (assignment.role == Role::cache_node) return true;
      if (!point) return false;
      if (assignment.role != Role::worker) return mark.round <= last;
      return mark.steps <= steps.at(static_cast<std::size_t>(assignment.index));
    });
  remove_after(directory, last);
  if (!job.checkpoints().commits.are_on_own_disks()) return;
  for (const auto& own : commit_directories(job, directory)) remove_after(own, last);
  // The evaluation of the commit's round may have been announced, and its model not been written.
  const std::string evaluated = checkpoint_path(directory, last);
  if (point && fs::exists(announced_path(directory, last)) && !fs::exists(evaluated))
    fs::copy_file(model_path(*point), evaluated);
}

}  // namespace tandem

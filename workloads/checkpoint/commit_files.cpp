#include "workloads/checkpoint/commit_files.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "workloads/checkpoint/commit_members.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

void remove_file(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

}  // namespace

CommitFiles::CommitFiles(const Job& job, const CommitGroup& group)
    : job_(job),
      group_(group),
      roster_(job.roster()),
      assignment_(roster_.assignment(group.rank())),
      directory_(commit_directory(group.plan(), job.checkpoints().directory, assignment_.host)) {}

void CommitFiles::create_directories() const {
  for (const std::string& directory : {directory_, job_.checkpoints().directory})
    fs::create_directories(directory + "/checkpoints");
}

std::vector<WrittenParts::Part> CommitFiles::find() const {
  // If this rank has no part in a commit, it may have to remove the other files of that commit later.
  std::set<std::int64_t> found;
  if (group_.changes()) {
    for (const std::int64_t round : rounds_in(directory_))
      if (fs::exists(state_path(directory_, round, assignment_)) ||
          fs::exists(members_path(directory_, round)))
        found.insert(round);
  } else {
    for (const RankAssignment& part : own_and_absent())
      for (const std::int64_t round : rounds_of_state(directory_, part)) found.insert(round);
  }
  std::vector<WrittenParts::Part> parts;
  for (const std::int64_t round : found) parts.push_back({round, !is_evaluated(round)});
  return parts;
}

/// The parts whose files this rank removes: its own, and if it writes the model those of workers that are
/// absent from this view or generation.
std::vector<RankAssignment> CommitFiles::own_and_absent() const {
  std::vector<RankAssignment> parts = {assignment_};
  if (!group_.writes_model()) return parts;
  for (const Rank worker : roster_.workers())
    if (group_.changes() && std::ranges::find(group_.parts(), worker) == group_.parts().end())
      parts.push_back(roster_.assignment(worker));
  std::ranges::move(absent_workers(job_), std::back_inserter(parts));
  return parts;
}

/// Models that are evaluated stay.
bool CommitFiles::is_evaluated(std::int64_t round) const {
  const std::int64_t every = job_.checkpoints().every;
  if (group_.changes()) return every > 0 && round % every == 0;
  const auto evaluated = announced_in(directory_);
  return std::ranges::find(evaluated, round, &AnnouncedCheckpoint::round) != evaluated.end();
}

/// Nothing stays of a part that cannot be written.
bool CommitFiles::save(std::int64_t round, PartOfCommit& part, bool with_model) const {
  if (!part.is_whole) return false;
  const std::string state = state_path(directory_, round, assignment_);
  try {
    part.state.save(state);
    if (with_model) save_model(job_, directory_, round, std::move(part.model));
    return true;
  } catch (const WorldError&) {
    remove_file(state);
    return false;
  }
}

void CommitFiles::remove(const WrittenParts::Part& part) const {
  // Without the list, the states are not taken for a commit.
  if (group_.writes_model() && group_.changes()) remove_file(members_path(directory_, part.round));
  if (group_.writes_model() && part.removes_model) remove_file(checkpoint_path(directory_, part.round));
  for (const RankAssignment& one : own_and_absent()) remove_file(state_path(directory_, part.round, one));
}

void CommitFiles::remove_before(std::int64_t round) const { remove_rounds_before(directory_, round); }

bool CommitFiles::are_complete(std::int64_t round) const {
  if (group_.changes()) return fs::exists(members_path(directory_, round));
  // A restart needs one copy of each part; only a commit that has all of them replaces the one before.
  return std::ranges::all_of(copies_of_commit(job_, round), [&](const checkpointing::Copy& copy) {
    return fs::exists(copy_path(job_, job_.checkpoints().directory, copy));
  });
}

bool CommitFiles::list_members(std::int64_t round) const {
  std::vector<int> workers;
  for (const Rank rank : group_.parts()) workers.push_back(roster_.assignment(rank).index);
  try {
    save_members(members_path(directory_, round), workers);
    return true;
  } catch (const WorldError&) {
    return false;
  }
}

}  // namespace tandem

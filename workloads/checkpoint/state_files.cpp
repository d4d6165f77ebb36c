#include "workloads/checkpoint/state_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/checkpoint/commit_members.hpp"
#include "workloads/checkpoint/other_workers.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

using Assignments = std::vector<RankAssignment>;

Assignments assignments_of(const Roster& roster, std::span<const Rank> ranks) {
  Assignments assignments;
  for (const Rank rank : ranks) assignments.push_back(roster.assignment(rank));
  return assignments;
}

Assignments workers_of(const Job& job) { return assignments_of(job.roster(), job.roster().workers()); }
Assignments deciders_of(const Job& job) { return assignments_of(job.roster(), job.roster().deciders()); }

/// The ranks whose state must exist. `members`: the workers that wrote the commit; empty: all that the job
/// needs.
Assignments needed_assignments(const Job& job, const std::vector<int>& members) {
  if (members.empty()) return assignments_of(job.roster(), ranks_of_state(job.roster(), job.exchange()));
  std::vector<Rank> ranks;
  for (const int member : members) ranks.push_back(job.roster().workers()[static_cast<std::size_t>(member)]);
  return assignments_of(job.roster(), ranks);
}

std::vector<SavedState> numbers_of(const Job& job, const Assignments& assignments,
                                   const std::string& directory, std::int64_t round) {
  std::vector<SavedState> states;
  for (const RankAssignment& assignment : assignments)
    states.push_back(SavedState::load_numbers(state_path(job, directory, round, assignment)));
  return states;
}

std::string ending_of_state(const RankAssignment& assignment) {
  return fmt::format(".{}_{}.state", role_name(assignment.role), assignment.index);
}

/// The one of the directories with the commits of a host in which that file is; the host's own if it is in
/// none. Generations with other workers have other hosts.
template <class Path>
std::string directory_with(const Job& job, const std::string& directory, const std::string& host,
                           const Path& path_in) {
  const CommitPlan& plan = job.checkpoints().commits;
  for (const std::string& holder : checkpointing::holders_of(plan.buddies, host)) {
    std::string own = commit_directory(plan, directory, holder);
    if (fs::exists(path_in(own))) return own;
  }
  for (std::string& other : commit_directories(plan, directory))
    if (fs::exists(path_in(other))) return std::move(other);
  return commit_directory(plan, directory, host);
}

std::string name_of_round(std::int64_t round) { return fmt::format("round_{:08}", round); }

/// Rounds of generations with several sets of workers: which parts a commit has follows from its generation.
std::vector<std::int64_t> rounds_on_machines(const CommitPlan& plan, const std::string& directory) {
  std::set<std::int64_t, std::greater<>> rounds;
  for (const std::string& own : commit_directories(plan, directory))
    for (const std::int64_t round : rounds_in(own)) rounds.insert(round);
  return {rounds.begin(), rounds.end()};
}

/// The number in a name that begins with "round_" and ends with `ending`; none: another file.
std::optional<std::int64_t> round_of(const std::string& name, const std::string& ending) {
  constexpr std::string_view first = "round_";
  if (!name.starts_with(first) || !name.ends_with(ending)) return std::nullopt;
  const std::size_t digits = name.size() - std::min(name.size(), first.size() + ending.size());
  const auto round = parse_number<std::int64_t>(std::string_view(name).substr(first.size(), digits));
  return round && name == name_of_round(*round) + ending ? round : std::nullopt;
}

/// Rounds of the files in the directory's checkpoints with this ending, the latest first.
std::vector<std::int64_t> rounds_of_files(const std::string& directory, const std::string& ending) {
  std::vector<std::int64_t> rounds;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory + "/checkpoints", error))
    if (const auto round = round_of(entry.path().filename().string(), ending)) rounds.push_back(*round);
  std::ranges::sort(rounds, std::greater());
  return rounds;
}

/// All workers of a job with servers have finished the round and computed nothing since.
bool all_ended(const Job& job, const std::vector<SavedState>& servers, std::int64_t round) {
  const auto workers = job.roster().workers().size();
  return std::ranges::all_of(servers, [&](const SavedState& server) {
    bool ended = server.integer("all_current") == 1;
    for (std::size_t worker = 0; worker < workers; ++worker)
      ended = ended && server.integer(fmt::format("worker.{}.pushes", worker)) == round;
    return ended;
  });
}

/// No worker waits for a reply of a policy, so workers that start a new step produce the events that every
/// policy expects.
bool nobody_waits(const Job& job, const std::vector<SavedState>& servers) {
  const auto workers = job.roster().workers().size();
  return std::ranges::all_of(servers, [&](const SavedState& server) {
    bool same = server.integer("all_answered") == 1;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const std::string pushes = fmt::format("worker.{}.pushes", worker);
      same = same && server.integer(pushes) == servers.front().integer(pushes);
    }
    return same;
  });
}

bool all_exist(const Job& job, const Assignments& assignments, const std::string& directory,
               std::int64_t round) {
  try {
    numbers_of(job, assignments, directory, round);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// Errors: ConfigError naming the file when the policy of a rank cannot be restored from its state.
void expect_policy(const Job& job, const SavedState& state, const std::string& path) {
  const std::string text = state.text("policy");
  const auto policy = job.exchange().algorithm().make.make_server(job.exchange().sync_setting());
  try {
    restore(*policy, text);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("state '{}': {}", path, error.what()));
  }
}

/// Errors: ConfigError when the checkpoint is not complete.
ResumePoint resume_point_at(const Job& job, const std::string& directory, std::int64_t round) {
  ResumePoint point{.directory = directory, .round = round};
  if (job.checkpoints().commits.are_on_machines()) {
    point.model_directory =
        directory_with(job, directory, job.roster().host_of(job.checkpoints().writer),
                       [round](const std::string& own) { return checkpoint_path(own, round); });
    if (!fs::exists(model_path(point)))
      throw ConfigError(fmt::format("no machine has the model of round {}", round));
  }
  const Assignments deciders = deciders_of(job);
  const auto states = numbers_of(job, deciders, directory, round);
  const auto workers = job.roster().workers().size();
  if (job.checkpoints().commits.by_members)
    point.members = load_members(members_path(directory, round), static_cast<int>(workers));
  const auto needed = numbers_of(job, needed_assignments(job, point.members), directory, round);
  // All that know how samples were dealt say the same.
  for (const auto* each : {&states, &needed})
    for (const SavedState& state : *each)
      if (!point.deals_anew && state.has("deals")) {
        point.deals_anew = true;
        point.deals = deals_from_json(nlohmann::json::parse(state.text("deals")));
      }
  if (point.members.size() == workers) point.members.clear();
  if (job.real_math()) load_checkpoint(model_path(point), job.model());
  const bool common_rounds = job.exchange().has_common_rounds();
  if (job.exchange().route() == sync::Route::server)
    point.workers_continue =
        all_ended(job, states, round) && all_exist(job, workers_of(job), directory, round);
  else
    point.workers_continue = common_rounds;
  point.policies_continue = !states.empty() && nobody_waits(job, states);
  for (std::size_t i = 0; point.policies_continue && i < deciders.size(); ++i)
    expect_policy(job, states[i], state_path(job, directory, round, deciders[i]));
  if (needs_states_of_workers(job.roster(), job.exchange()) && !point.workers_continue)
    throw ConfigError(fmt::format("the states of round {} are from different times", round));
  return point;
}

/// The state of a worker that starts a new step from the servers' model: its counters as known to the
/// servers.
SavedState known_to_servers(const Job& job, int index) {
  const ResumePoint& from = *job.resume();
  auto servers = numbers_of(job, deciders_of(job), from.directory, from.round);
  SavedState& first = servers.front();
  if (from.former_workers > 0) count_for_other_workers(job, first);
  const auto known = [&](const char* name) {
    return first.integer(fmt::format("worker.{}.{}", index, name));
  };
  SavedState state;
  // A worker that was absent has pushed less often.
  state.set("round", job.exchange().has_common_rounds() ? from.round : known("pushes"));
  state.set("step", known("steps"));
  state.set("samples_taken", from.deals_anew ? 0 : known("samples"));
  if (const std::int64_t batch = known("batch"); batch > 0) state.set("batch", batch);
  state.set("local_steps", known("local_steps"));
  state.set("version", first.integer("version"));
  state.set("samples", first.integer("samples"));
  for (std::size_t shard = 0; shard < servers.size(); ++shard)
    state.set(fmt::format("exchange.version.{}", shard), servers[shard].integer("version"));
  return state;
}

/// The state of one of several peers that run at different speeds: an equal part of the steps that the first
/// worker counted for all.
SavedState equal_part(const Job& job) {
  const ResumePoint& from = *job.resume();
  const Roster& roster = job.roster();
  const auto first = SavedState::load_numbers(
      state_path(job, from.directory, from.round, roster.assignment(roster.first_worker())));
  const std::int64_t steps = first.integer("exchange.steps");
  const std::int64_t part = steps / std::ssize(roster.workers());
  SavedState state;
  for (const char* name : {"round", "step", "version", "exchange.own_steps"}) state.set(name, part);
  state.set("samples_taken", part * job.data().batch());
  for (const char* name : {"rounds", "samples"}) state.set(name, first.integer(name));
  state.set("exchange.steps", steps);
  double elapsed = first.real("elapsed_s");
  state.number("elapsed_s", elapsed);
  return state;
}

}  // namespace

std::string state_path(const std::string& directory, std::int64_t round, const RankAssignment& assignment) {
  return fmt::format("{}/checkpoints/{}{}", directory, name_of_round(round), ending_of_state(assignment));
}

std::string state_path(const Job& job, const std::string& directory, std::int64_t round,
                       const RankAssignment& assignment) {
  const CommitPlan& commits = job.checkpoints().commits;
  const auto path_in = [&](const std::string& own) { return state_path(own, round, assignment); };
  if (!commits.are_on_machines()) return path_in(directory);
  return path_in(directory_with(job, directory, assignment.host, path_in));
}

std::string copy_path(const Job& job, const std::string& directory, const checkpointing::Copy& copy) {
  const std::string own = commit_directory(job.checkpoints().commits, directory, copy.machine);
  return copy.part == model_part ? checkpoint_path(own, copy.round)
                                 : state_path(own, copy.round, job.roster().assignment(copy.part));
}

std::string events_path(const std::string& directory, const RankAssignment& assignment) {
  return fmt::format("{}/checkpoints/{}_{}.events", directory, role_name(assignment.role), assignment.index);
}

std::vector<std::int64_t> rounds_in(const std::string& directory) {
  return rounds_of_files(directory, ".pt");
}

std::vector<std::int64_t> rounds_of_state(const std::string& directory, const RankAssignment& assignment) {
  return rounds_of_files(directory, ending_of_state(assignment));
}

void remove_rounds_before(const std::string& directory, std::int64_t round) {
  std::vector<fs::path> earlier;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory + "/checkpoints", error)) {
    const std::string name = entry.path().filename().string();
    if (const auto found = round_of(name, name.substr(std::min(name.size(), name_of_round(0).size())));
        found && *found < round)
      earlier.push_back(entry.path());
  }
  for (const auto& path : earlier) fs::remove(path, error);
}

std::vector<std::int64_t> rounds_of_job(const Job& job, const std::string& directory) {
  const CheckpointPlan& plan = job.checkpoints();
  if (!plan.commits.are_on_machines()) return rounds_in(directory);
  if (const Generation* const generation = job.generation();
      generation != nullptr && !generation->hosts.empty())
    return rounds_on_machines(plan.commits, directory);
  std::vector<checkpointing::Copy> copies;
  for (const auto& part : copies_of_commit(job, 0)) {
    const std::string own = commit_directory(plan.commits, directory, part.machine);
    const auto rounds =
        part.part == model_part ? rounds_in(own) : rounds_of_state(own, job.roster().assignment(part.part));
    for (const std::int64_t round : rounds) copies.push_back({round, part.part, part.machine});
  }
  return whole_commits(job, copies);
}

void save_model(const Job& job, const std::string& directory, std::int64_t round, std::vector<float> values) {
  const std::string path = checkpoint_path(directory, round);
  if (job.real_math())
    return save_checkpoint(path, {job.model().name, round, std::move(values)}, job.model());
  if (!std::ofstream(path)) throw WorldError(fmt::format("checkpoint '{}' cannot be written", path));
}

StateFiles::StateFiles(const Job& job, Rank rank)
    : directory_(job.spec().directory),
      assignment_(job.roster().assignment(rank)),
      keeps_(job.checkpoints().keeps_states_with_checkpoints() &&
             can_use_state(job.roster(), job.exchange(), rank)),
      schedule_(job.checkpoints().schedule()) {
  if (keeps_) fs::create_directories(directory_ + "/checkpoints");
}

void StateFiles::save(std::int64_t round, const SavedState& state) {
  schedule_.begin_again(round);
  state.save(state_path(directory_, round, assignment_));
}

bool is_only_evaluated(const Job& job, const std::string& directory, std::int64_t round) {
  const CommitPlan& commits = job.checkpoints().commits;
  const auto has_state = [&](Rank rank) {
    return fs::exists(state_path(job, directory, round, job.roster().assignment(rank)));
  };
  if (commits.by_members) return std::ranges::none_of(job.roster().workers(), has_state);
  return commits.is_enabled() && !has_state(commits.decider);
}

ResumePoint find_resume_point(const Job& job, const std::string& directory,
                              std::optional<std::int64_t> round) {
  if (round) return resume_point_at(job, directory, *round);
  std::vector<std::string> passed_over;
  for (const std::int64_t candidate : rounds_of_job(job, directory)) {
    if (is_only_evaluated(job, directory, candidate)) continue;
    try {
      ResumePoint point = resume_point_at(job, directory, candidate);
      point.passed_over = std::move(passed_over);
      return point;
    } catch (const ConfigError& error) {
      passed_over.push_back(
          fmt::format("the checkpoint of round {} cannot be used: {}", candidate, error.what()));
    }
  }
  throw ConfigError(fmt::format("{}: expected a complete checkpoint in it, found none{}", directory,
                                passed_over.empty() ? "" : "; " + passed_over.front()));
}

Progress progress_at(const Job& job, const ResumePoint& point) {
  const Roster& roster = job.roster();
  const Rank first = roster.workers()[static_cast<std::size_t>(point.first_member())];
  const RankAssignment& counts = roster.assignment(roster.coordinator().value_or(first));
  const auto state = SavedState::load_numbers(state_path(job, point.directory, point.round, counts));
  return {.rounds = point.round,
          .samples = state.integer("samples"),
          .now = Seconds(state.has("elapsed_s") ? state.real("elapsed_s") : 0.0)};
}

SavedState state_of_worker(const Job& job, int index) {
  const ResumePoint& from = *job.resume();
  const Roster& roster = job.roster();
  if (from.workers_continue && from.former_workers > 0) return state_from_other_workers(job, index);
  if (!from.has_state_of(index)) return state_of_newcomer(job, index);
  if (from.workers_continue) {
    const Rank rank = roster.workers()[static_cast<std::size_t>(index)];
    SavedState own = SavedState::load(state_path(job, from.directory, from.round, roster.assignment(rank)));
    if (from.deals_anew && job.exchange().route() != sync::Route::server) begin_with_new_deal(job, own);
    // A coordinator with a new policy expects workers with new ones.
    const bool is_led = job.exchange().route() != sync::Route::server && roster.coordinator();
    if (!is_led || from.policies_continue) return own;
    own.forget([](const std::string& name) { return name == "policy" || name == "local_steps"; });
    own.restore_known();
    return own;
  }
  SavedState state =
      job.exchange().route() == sync::Route::peers ? equal_part(job) : known_to_servers(job, index);
  state.restore_known();
  return state;
}

SavedState state_of_decider(const Job& job, int index) {
  const ResumePoint& from = *job.resume();
  const Rank rank = job.roster().deciders()[static_cast<std::size_t>(index)];
  SavedState state =
      SavedState::load(state_path(job, from.directory, from.round, job.roster().assignment(rank)));
  if (from.former_workers > 0) count_for_other_workers(job, state);
  if (from.deals_anew)
    for (std::size_t worker = 0; worker < job.roster().workers().size(); ++worker)
      state.set(fmt::format("worker.{}.samples", worker), 0);
  return state;
}

}  // namespace tandem

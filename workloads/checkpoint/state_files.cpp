#include "workloads/checkpoint/state_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/checkpoint/event_log.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// Workers end the same rounds, whatever their speed. Those that step the model themselves, by a server's
/// means, must go on from the same one, so that all their states are needed.
bool rounds_are_common(const Job& job) {
  return !job.algorithm().make.timing_driven || job.route() == sync::Route::all_reduce ||
         job.servers_send_means();
}

std::vector<RankAssignment> assignments_of(const Job& job, RankAssignment::Role role) {
  std::vector<RankAssignment> seats;
  for (const RankAssignment& seat : job.assignments())
    if (seat.role == role) seats.push_back(seat);
  return seats;
}

/// Who decides for the workers, if anybody.
std::vector<RankAssignment> deciding_seats(const Job& job) {
  auto seats = assignments_of(job, RankAssignment::Role::server);
  return seats.empty() ? assignments_of(job, RankAssignment::Role::coordinator) : seats;
}

/// Of whom a state must be there.
std::vector<RankAssignment> needed_seats(const Job& job) {
  std::vector<RankAssignment> seats = deciding_seats(job);
  const auto workers = assignments_of(job, RankAssignment::Role::worker);
  if (rounds_are_common(job))
    seats.insert(seats.end(), workers.begin(), workers.end());
  else if (seats.empty())
    seats.push_back(workers.front());
  return seats;
}

/// Of peers that go at different paces only the first one's is, which writes the checkpoints.
bool is_of_use(const Job& job, const RankAssignment& seat) {
  return job.route() != sync::Route::peers || rounds_are_common(job) || seat.index == 0;
}

std::vector<SavedState> numbers_of(const std::vector<RankAssignment>& seats, const std::string& directory,
                                   std::int64_t round) {
  std::vector<SavedState> states;
  for (const RankAssignment& seat : seats)
    states.push_back(SavedState::load_numbers(state_path(directory, round, seat)));
  return states;
}

/// Rounds whose model is there, the newest first.
std::vector<std::int64_t> rounds_in(const std::string& directory) {
  std::vector<std::int64_t> rounds;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory + "/checkpoints", error)) {
    const std::string name = entry.path().filename().string();
    const std::size_t begin = std::string("round_").size();
    std::int64_t round = 0;
    if (name.size() < begin) continue;
    std::from_chars(name.data() + begin, name.data() + name.size(), round);
    if (name == fs::path(checkpoint_path(directory, round)).filename()) rounds.push_back(round);
  }
  std::ranges::sort(rounds, std::greater());
  return rounds;
}

/// All workers of a job that a server decides for have ended the round and computed nothing since.
bool all_ended(const Job& job, const std::vector<SavedState>& servers, std::int64_t round) {
  const auto workers = job.ranks_of(RankAssignment::Role::worker).size();
  return std::ranges::all_of(servers, [&](const SavedState& server) {
    bool ended = server.integer("all_current") == 1;
    for (std::size_t worker = 0; worker < workers; ++worker)
      ended = ended && server.integer(fmt::format("worker.{}.pushes", worker)) == round;
    return ended;
  });
}

/// What each policy waits for, it also gets from workers that take a fresh step.
bool nobody_waits(const Job& job, const std::vector<SavedState>& servers) {
  const auto workers = job.ranks_of(RankAssignment::Role::worker).size();
  return std::ranges::all_of(servers, [&](const SavedState& server) {
    bool same = server.integer("all_answered") == 1;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const std::string pushes = fmt::format("worker.{}.pushes", worker);
      same = same && server.integer(pushes) == servers.front().integer(pushes);
    }
    return same;
  });
}

bool is_whole(const std::vector<RankAssignment>& seats, const std::string& directory, std::int64_t round) {
  try {
    numbers_of(seats, directory, round);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// Errors: ConfigError naming the file when the policy of a seat cannot see again what it had seen.
void expect_events(const RankAssignment& seat, const SavedState& state, const std::string& directory) {
  const std::string path = events_path(directory, seat);
  const auto events = EventLog::read(path, state.integer("events_bytes"));
  std::size_t line = 0;
  try {
    for (; line < events.size(); ++line) sync::parse_server_event(events[line]);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("events '{}': line {}: {}", path, line + 1, error.what()));
  }
}

/// Errors: ConfigError when the checkpoint is not whole.
ResumePoint resume_point_at(const Job& job, const std::string& directory, std::int64_t round) {
  ResumePoint point{.directory = directory, .round = round};
  const auto seats = deciding_seats(job);
  const auto deciding = numbers_of(seats, directory, round);
  numbers_of(needed_seats(job), directory, round);
  load_checkpoint(checkpoint_path(directory, round), job.model());
  const auto workers = assignments_of(job, RankAssignment::Role::worker);
  if (job.route() == sync::Route::server)
    point.workers_remember = all_ended(job, deciding, round) && is_whole(workers, directory, round);
  else
    point.workers_remember = rounds_are_common(job);
  point.policies_remember = !deciding.empty() && nobody_waits(job, deciding);
  for (std::size_t shard = 0; point.policies_remember && shard < seats.size(); ++shard)
    expect_events(seats[shard], deciding[shard], directory);
  if (rounds_are_common(job) && !point.workers_remember)
    throw ConfigError(fmt::format("the states of round {} are not of one moment", round));
  return point;
}

/// Of a worker that takes a fresh step from the servers' model, having done what they know.
SavedState known_to_servers(const Job& job, int index) {
  const ResumePoint& from = *job.resume();
  const auto servers = numbers_of(deciding_seats(job), from.directory, from.round);
  const SavedState& first = servers.front();
  const auto told = [&](const char* name) { return first.integer(fmt::format("worker.{}.{}", index, name)); };
  SavedState state;
  state.set("round", told("pushes"));
  state.set("step", told("steps"));
  state.set("samples_taken", told("samples"));
  if (const std::int64_t batch = told("batch"); batch > 0) state.set("batch", batch);
  state.set("local_steps", told("local_steps"));
  state.set("version", first.integer("version"));
  state.set("samples", first.integer("samples"));
  for (std::size_t shard = 0; shard < servers.size(); ++shard)
    state.set(fmt::format("link.version.{}", shard), servers[shard].integer("version"));
  return state;
}

/// Of one among peers that go at different paces, of whom the first one knows what all have done.
SavedState equal_part(const Job& job) {
  const ResumePoint& from = *job.resume();
  const auto workers = assignments_of(job, RankAssignment::Role::worker);
  const auto first = SavedState::load_numbers(state_path(from.directory, from.round, workers.front()));
  const std::int64_t steps = first.integer("link.steps");
  const std::int64_t part = steps / std::ssize(workers);
  SavedState state;
  for (const char* name : {"round", "step", "version", "link.own_steps"}) state.set(name, part);
  state.set("samples_taken", part * job.experiment().workload.batch);
  for (const char* name : {"rounds", "samples"}) state.set(name, first.integer(name));
  state.set("link.steps", steps);
  double elapsed = first.real("elapsed_s");
  state.number("elapsed_s", elapsed);
  return state;
}

}  // namespace

std::string state_path(const std::string& directory, std::int64_t round, const RankAssignment& seat) {
  return fmt::format("{}/checkpoints/round_{:08}.{}_{}.state", directory, round, role_name(seat.role),
                     seat.index);
}

std::string events_path(const std::string& directory, const RankAssignment& seat) {
  return fmt::format("{}/checkpoints/{}_{}.events", directory, role_name(seat.role), seat.index);
}

bool keeps_states(const Job& job) { return job.real_math() && job.experiment().evaluate_every > 0; }

StateFiles::StateFiles(const Job& job, Rank rank)
    : job_(job),
      seat_(job.assignments().at(static_cast<std::size_t>(rank))),
      keeps_(keeps_states(job) && is_of_use(job, seat_)),
      interval_(job) {
  if (keeps_) fs::create_directories(job.directory() + "/checkpoints");
}

void StateFiles::save(std::int64_t round, const SavedState& state) {
  interval_.begin_again(round);
  state.save(state_path(job_.directory(), round, seat_));
}

ResumePoint find_resume_point(const Job& job, const std::string& directory,
                              std::optional<std::int64_t> round) {
  if (round) return resume_point_at(job, directory, *round);
  std::string newest;
  for (const std::int64_t candidate : rounds_in(directory)) {
    try {
      return resume_point_at(job, directory, candidate);
    } catch (const ConfigError& error) {
      if (newest.empty()) newest = fmt::format("; the newest is of round {}: {}", candidate, error.what());
    }
  }
  throw ConfigError(fmt::format("{}: expected a whole checkpoint in it, found none{}", directory, newest));
}

Progress progress_at(const Job& job, const ResumePoint& point) {
  const auto deciding = deciding_seats(job);
  const RankAssignment seat =
      deciding.empty() ? assignments_of(job, RankAssignment::Role::worker).front() : deciding.front();
  const auto state = SavedState::load_numbers(state_path(point.directory, point.round, seat));
  return {.rounds = point.round,
          .samples = state.integer("samples"),
          .now = Seconds(state.has("elapsed_s") ? state.real("elapsed_s") : 0.0)};
}

SavedState state_of_worker(const Job& job, int index) {
  const ResumePoint& from = *job.resume();
  if (from.workers_remember)
    return SavedState::load(
        state_path(from.directory, from.round,
                   assignments_of(job, RankAssignment::Role::worker).at(static_cast<std::size_t>(index))));
  SavedState state = job.route() == sync::Route::peers ? equal_part(job) : known_to_servers(job, index);
  state.restore_known();
  return state;
}

SavedState state_of_server(const Job& job, int index) {
  const ResumePoint& from = *job.resume();
  return SavedState::load(
      state_path(from.directory, from.round, deciding_seats(job).at(static_cast<std::size_t>(index))));
}

}  // namespace tandem

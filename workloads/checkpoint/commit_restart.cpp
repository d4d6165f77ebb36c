#include "workloads/checkpoint/commit_restart.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "workloads/checkpoint/commit_protocol.hpp"
#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

using Role = Roster::Role;

/// Its values are read from the file, in which they are with real mathematics.
void receive_model(const Job& job, Context& context) {
  Pending model = protocol::receive<"states">(context, job.checkpoints().writer, {job.model().bytes()});
  context.wait(model);
}

void send_model(const Job& job, Context& context) {
  std::vector<Pending> sent;
  for (const Rank worker : job.roster().workers())
    if (worker != context.rank())
      sent.push_back(protocol::send<"states">(context, worker, {job.model().bytes()}));
  context.wait_all(sent);
}

/// As the generation that wrote the commit from which the job starts again had them.
std::vector<RankAssignment> last_parts(const Job& job) {
  const CommitPlan& plan = job.checkpoints().commits;
  std::vector<RankAssignment> parts;
  for (const Rank rank : plan.parts) parts.push_back(job.roster().assignment(rank));
  if (plan.by_members) {
    std::erase_if(parts, [&](const RankAssignment& part) {
      return part.role != Role::worker || !job.resume()->has_state_of(part.index);
    });
    return parts;
  }
  const int former = job.resume()->former_workers;
  const auto is_worker = [](const RankAssignment& part) { return part.role == Role::worker; };
  if (former == 0 || std::erase_if(parts, is_worker) == 0) return parts;
  for (int index = 0; index < former; ++index) parts.push_back({Role::worker, index, std::string()});
  return parts;
}

}  // namespace

void read_commit(const Job& job, Context& context, Bytes size) {
  const CommitPlan& plan = job.checkpoints().commits;
  const Role role = job.roster().assignment(context.rank()).role;
  const std::optional<int> disk = job.devices().disk_of(context.rank());
  const bool has_model = role == Role::worker || role == Role::server;
  const bool has_state = role != Role::worker || job.resume()->workers_continue;
  const bool is_brought = plan.are_on_machines() && !job.resume()->workers_continue;
  const bool writes_model = context.rank() == job.checkpoints().writer;
  if (is_brought && !has_state && !writes_model) return receive_model(job, context);
  const Bytes read = has_state ? size : job.model().bytes();
  // A part in memory is there already (restore_copies).
  if (disk && has_model && read > Bytes(0) && !plan.are_in_memory()) {
    Pending reading = context.read(*disk, read);
    context.wait(reading);
  }
  if (is_brought && writes_model) send_model(job, context);
}

std::optional<RestartCommit> restart_commit(const Job& job) {
  const CommitPlan& plan = job.checkpoints().commits;
  const ResumePoint& from = *job.resume();
  const double began_s = job.generation()->began.count();
  constexpr double before_all = -std::numeric_limits<double>::infinity();
  const auto first = static_cast<std::size_t>(from.first_member());
  const RankAssignment& decider =
      job.roster().assignment(plan.by_members ? job.roster().workers()[first] : plan.decider);
  RestartCommit commit{.record = {.round = from.round, .ended = Seconds(before_all)}};
  CommitRecord& record = commit.record;
  Seconds by_servers{}, by_workers{};
  for (const RankAssignment& part : last_parts(job)) {
    const auto state = SavedState::load_numbers(state_path(job, from.directory, from.round, part));
    if (!state.has("commit.ended_s")) return std::nullopt;
    if (part.role == decider.role && part.index == decider.index) {
      record.started = Seconds(state.real("commit.started_s") - began_s);
      if (state.has("commit.policy")) {
        commit.policy = state.text("commit.policy");
        commit.policy_at = Seconds(state.real("commit.policy_at_s"));
      }
    }
    record.ended = std::max(record.ended, Seconds(state.real("commit.ended_s") - began_s));
    Seconds& blocked = part.role == Role::worker ? by_workers : by_servers;
    blocked = std::max(blocked, Seconds(state.real("commit.blocked_s")));
    record.bytes += state.integer("commit.bytes");
  }
  record.blocked = by_servers + by_workers;
  record.by_servers = by_servers;
  const Seconds took = record.ended - record.started;
  commit.event = {.now = record.ended + job.generation()->began,
                  .round = record.round,
                  .duration = record.blocked,
                  .took = took > record.blocked ? took : Seconds()};
  return commit;
}

void note_times(SavedState& state, const Job& job, Seconds started, Seconds now, Seconds copied, Bytes size) {
  const double began_s = job.generation()->began.count();
  double started_s = began_s + started.count(), ended_s = began_s + now.count();
  double blocked_s =
      job.checkpoints().commits.mode == CommitMode::background ? copied.count() : ended_s - started_s;
  state.number("commit.started_s", started_s);
  state.number("commit.ended_s", ended_s);
  state.number("commit.blocked_s", blocked_s);
  state.set("commit.bytes", size.count());
}

}  // namespace tandem

#include "workloads/checkpoint/dealt_parts.hpp"

#include <algorithm>
#include <array>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "policies/checkpointing/moves.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/commit_part.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

using Role = RankAssignment::Role;
using Names = std::vector<std::string>;

bool is_same(const RankAssignment& part, const RankAssignment& other) {
  return part.role == other.role && part.index == other.index;
}

int count_workers(const Job& job) { return static_cast<int>(job.roster().workers().size()); }

/// The number of workers in the generation that wrote the commit after which `job` continues at that point.
int former_workers(const Job& job, const ResumePoint& point) {
  return point.former_workers > 0 ? point.former_workers : count_workers(job);
}

/// The part from which the rank starts, as the rank that wrote it is named; none: from the model.
std::optional<RankAssignment> first_part_of(const Job& job, const ResumePoint& point, Rank rank) {
  RankAssignment part = job.roster().assignment(rank);
  if (part.role == Role::server || part.role == Role::coordinator) return part;
  if (part.role != Role::worker || !point.workers_continue) return std::nullopt;
  if (part.index >= former_workers(job, point)) part.index = point.first_member();
  return part;
}

/// The parts that are needed to start from the commit, now and later with other workers again.
std::vector<RankAssignment> parts_of(const Job& writer, const ResumePoint& point) {
  std::vector<RankAssignment> parts;
  const auto& needed = writer.checkpoints().commits.parts;
  for (const RankAssignment& assignment : writer.roster().assignments()) {
    const auto rank = static_cast<Rank>(&assignment - writer.roster().assignments().data());
    if (point.workers_continue ? has_part_in_commits(writer, rank) : std::ranges::count(needed, rank) > 0)
      parts.push_back(assignment);
  }
  return parts;
}

void add_once(Names& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

/// First that of the rank which has it from now on, then the buddy of that, then those that start from it.
Names machines_for(const Job& job, const ResumePoint& point, const RankAssignment& part) {
  const Roster& roster = job.roster();
  const auto ranks = roster.ranks_of(part.role);
  // Workers share the parts of those that are absent.
  const std::string& owner = roster.host_of(ranks[static_cast<std::size_t>(part.index) % ranks.size()]);
  Names machines = checkpointing::holders_of(job.checkpoints().commits.buddies, owner);
  for (const Rank rank : roster.workers())
    if (const auto first = first_part_of(job, point, rank); first && is_same(*first, part))
      add_once(machines, roster.host_of(rank));
  return machines;
}

Rank keeper_on(const Job& job, const std::string& host) {
  for (const Rank keeper : job.roster().keepers())
    if (job.roster().host_of(keeper) == host) return keeper;
  TANDEM_CHECK(false, "no keeper on", host);
  return 0;
}

/// Whether a rank on the machine starts from the part that it gets.
bool is_needed(const Job& job, const PartMove& move) {
  for (Rank rank = 0; rank < job.roster().size(); ++rank)
    if (job.roster().host_of(rank) == move.to)
      if (const auto first = first_part_of(job, *job.resume(), rank); first && is_same(*first, move.part))
        return true;
  return false;
}

/// A keeper: sends all its parts immediately, and receives what arrives.
class MovingKeeper {
 public:
  MovingKeeper(const Job& job, Context& context)
      : job_(job),
        context_(context),
        host_(job.roster().host_of(context.rank())),
        round_(job.resume()->round) {}

  void run() {
    const auto& moves = job_.generation()->moves;
    for (const PartMove& move : moves)
      if (move.part.host == host_) send(move);
    for (const PartMove& move : moves)
      if (move.to == host_) take(move);
    for (Sent& sent : sent_) context_.wait_all(sent.messages);
    context_.wait_all(notices_);
  }

 private:
  struct Sent {
    CommitPart part;
    std::array<Pending, 3> messages = {};
  };

  void send(const PartMove& move) {
    const Rank to = keeper_on(job_, move.to);
    Sent& sent = sent_.emplace_back(Sent{.part = CommitPart(job_, move.part)});
    sent.part.load(host_, round_);
    const protocol::Kept kept{.round = static_cast<std::int32_t>(round_), .blocks = sent.part.blocks()};
    sent.messages = {protocol::send<"copies-kept">(context_, to, kept),
                     protocol::send<"copy-parts">(context_, to, sent.part.vectors()),
                     protocol::send<"copy-parts">(context_, to, sent.part.rest())};
  }

  void take(const PartMove& move) {
    const Rank from = keeper_on(job_, move.part.host);
    CommitPart part(job_, move.part);
    Pending note = protocol::receive<"copies-kept">(context_, from);
    part.make_room(protocol::unpack<protocol::Kept>(context_.wait(note).note).blocks);
    Pending vectors = protocol::receive<"copy-parts">(context_, from, part.vectors());
    Pending rest = protocol::receive<"copy-parts">(context_, from, part.rest());
    context_.wait(vectors);
    context_.wait(rest);
    try {
      part.store(host_, round_);
    } catch (const WorldError&) {
      // If no rank starts from the part, the commit remains with the machines that have it.
      if (is_needed(job_, move)) throw;
    }
    notify(move);
  }

  /// The ranks on this machine that wait for it.
  void notify(const PartMove& move) {
    const protocol::Kept kept{.round = static_cast<std::int32_t>(round_)};
    for (Rank rank = 0; rank < job_.roster().size(); ++rank) {
      if (job_.roster().host_of(rank) != host_) continue;
      const auto first = first_part_of(job_, *job_.resume(), rank);
      if (first && is_same(*first, move.part))
        notices_.push_back(protocol::send<"copies-kept">(context_, rank, kept));
    }
  }

  const Job& job_;
  Context& context_;
  const std::string& host_;
  std::int64_t round_;
  std::list<Sent> sent_;  ///< whose memory messages refer to
  std::vector<Pending> notices_;
};

/// For a rank that starts from a part: waits until its keeper has it, and reads it.
void await_part(const Job& job, Context& context, const RankAssignment& part) {
  const std::string& host = job.roster().host_of(context.rank());
  const auto& moves = job.generation()->moves;
  const bool moves_here = std::ranges::any_of(
      moves, [&](const PartMove& move) { return move.to == host && is_same(move.part, part); });
  if (moves_here) {
    Pending kept = protocol::receive<"copies-kept">(context, keeper_on(job, host));
    context.wait(kept);
  }
  const Bytes size = CommitPart(job, part).size();
  if (size == Bytes(0)) return;
  Pending loading = context.compute({.kind = Work::Kind::reduce, .bytes = size});
  context.wait(loading);
}

}  // namespace

std::vector<PartMove> deal_parts(const Job& writer, const ResumePoint& point, const Job& next) {
  const CommitPlan& plan = next.checkpoints().commits;
  if (!plan.are_on_machines()) return {};
  const auto parts = parts_of(writer, point);
  std::vector<checkpointing::Copy> there, wanted;
  for (int number = 0; number < std::ssize(parts); ++number) {
    const RankAssignment& part = parts[static_cast<std::size_t>(number)];
    const CommitPart files(next, part);
    const Names machines = machines_for(next, point, part);
    if (!plan.are_in_memory()) {
      for (const std::string& machine : machines) files.bring_to(machine, point.round);
      continue;
    }
    const std::size_t before = there.size();
    for (const Rank keeper : next.roster().keepers())
      if (const std::string& host = next.roster().host_of(keeper); files.is_in(host, point.round))
        there.push_back({point.round, number, host});
    if (there.size() == before) {
      files.bring_to(machines.front(), point.round);
      there.push_back({point.round, number, machines.front()});
    }
    for (const std::string& machine : machines) wanted.push_back({point.round, number, machine});
  }
  std::vector<PartMove> moves;
  for (const checkpointing::Move& move : checkpointing::plan_moves(there, wanted)) {
    const RankAssignment& part = parts[static_cast<std::size_t>(move.part)];
    moves.push_back({{part.role, part.index, move.from}, move.to});
  }
  return moves;
}

void exchange_parts(const Job& job, Context& context) {
  if (job.roster().assignment(context.rank()).role == Role::keeper) return MovingKeeper(job, context).run();
  if (const auto part = first_part_of(job, *job.resume(), context.rank())) await_part(job, context, *part);
}

}  // namespace tandem

#include "workloads/roles/worker/worker_slot.hpp"

#include <iterator>
#include <limits>
#include <optional>

#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/job/plan/departing_nodes.hpp"
#include "workloads/membership/occupant_context.hpp"
#include "workloads/roles/worker/worker.hpp"

namespace tandem {
namespace {

std::optional<CacheNodeStanding> standing_of(const Job& job, std::size_t worker) {
  const auto nodes = job.roster().ranks_of(Roster::Role::cache_node);
  if (nodes.empty()) return std::nullopt;
  const std::size_t node = cache_node_of(job.roster(), worker);
  if (!may_cache_node_depart(job, node)) return std::nullopt;
  return CacheNodeStanding(nodes[node]);
}

}  // namespace

WorkerSlot::WorkerSlot(const Job& job, Context& context, Journal& journal, int index)
    : job_(job),
      context_(context),
      journal_(journal),
      index_(index),
      steward_(context, *job.roster().steward()),
      node_(standing_of(job, static_cast<std::size_t>(index))),
      records_(job, context.rank(), journal) {}

void WorkerSlot::run() {
  constexpr int first = 1;
  protocol::Occupancy occupancy{.departs = Seconds(std::numeric_limits<double>::infinity())};
  // Where the job has started again, its machine may have departed before.
  const bool is_first_launch = job_.generation() == nullptr || job_.generation()->number() == 0;
  if (is_first_launch && index_ < std::ssize(job_.roster().first_workers())) {
    occupancy.incarnation = first;
    live(occupancy);
  }
  while (true) {
    const Note note = steward_.wait();
    if (protocol::as<protocol::End>(note)) return steward_.close();
    if (node_ && node_->on_message(note)) {
      if (ended_ > 0) node_->decline(context_, ended_);
      continue;
    }
    const auto next = protocol::unpack<protocol::Occupancy>(note);
    // A note about an earlier occupant has no effect.
    if (next.incarnation <= occupancy.incarnation) continue;
    if (node_ && is_arrival(job_, index_, next.incarnation)) node_->begin_worker();
    live(occupancy = next);
  }
}

void WorkerSlot::live(const protocol::Occupancy& occupancy) {
  OccupantContext context(context_, steward_, occupancy, node_ ? &*node_ : nullptr);
  ended_ = 0;
  std::optional<Worker> worker;
  const TransferGuard transfers(context);
  try {
    worker.emplace(job_, context, journal_, index_, occupancy.incarnation,
                   Worker::Slot{&records_, node_ ? &*node_ : nullptr});
    worker->run();
    context.end();
    ended_ = occupancy.incarnation;
  } catch (const OccupantDeparted&) {
    record_gone(occupancy);
    if (worker) worker->record_interrupted_step();
  }
  if (!node_) return;
  node_->await_ends([this](Pending& end) { return context_.wait(end); });
  // It may have come back since the worker asked last.
  if (ended_ > 0) node_->decline(context_, ended_);
}

void WorkerSlot::record_gone(const protocol::Occupancy& occupancy) {
  journal_.membership.push_back({.time = context_.now(),
                                 .slot = index_,
                                 .incarnation = occupancy.incarnation + occupancy.before,
                                 .host = job_.roster().host_of(context_.rank()),
                                 .event = "gone",
                                 .role = role_name(RankAssignment::Role::worker)});
}

}  // namespace tandem

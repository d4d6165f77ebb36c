#include "workloads/roles/worker_slot.hpp"

#include <iterator>
#include <limits>
#include <optional>

#include "workloads/membership/occupant_context.hpp"
#include "workloads/roles/worker.hpp"

namespace tandem {

WorkerSlot::WorkerSlot(const Job& job, Context& context, Journal& journal, int index)
    : job_(job),
      context_(context),
      journal_(journal),
      index_(index),
      steward_(context, *job.roster().steward()),
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
    if (protocol::holds<protocol::End>(note)) return steward_.close();
    const auto next = protocol::unpack<protocol::Occupancy>(note);
    // Else it is about the occupant that has ended.
    if (next.incarnation > occupancy.incarnation) live(occupancy = next);
  }
}

void WorkerSlot::live(const protocol::Occupancy& occupancy) {
  OccupantContext context(context_, steward_, occupancy);
  std::optional<Worker> worker;
  const TransferGuard transfers(context);
  try {
    worker.emplace(job_, context, journal_, index_, occupancy.incarnation, &records_);
    worker->run();
    context.end();
  } catch (const OccupantDeparted&) {
    record_gone(occupancy);
    if (worker) worker->record_interrupted_step();
  }
}

void WorkerSlot::record_gone(const protocol::Occupancy& occupancy) {
  journal_.membership.push_back({.time = context_.now(),
                                 .slot = index_,
                                 .incarnation = occupancy.incarnation + occupancy.before,
                                 .host = job_.roster().host_of(context_.rank()),
                                 .event = "gone"});
}

}  // namespace tandem

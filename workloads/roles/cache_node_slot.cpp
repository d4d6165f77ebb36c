#include "workloads/roles/cache_node_slot.hpp"

#include <limits>
#include <optional>

#include "workloads/membership/occupant_context.hpp"
#include "workloads/roles/cache_node.hpp"
#include "workloads/roles/served_job.hpp"

namespace tandem {

CacheNodeSlot::CacheNodeSlot(const Job& job, Context& context, Journal& journal, int index)
    : job_(job),
      context_(context),
      journal_(journal),
      index_(index),
      steward_(context, *job.roster().steward(), protocol::occupancies),
      records_(job, context.rank(), journal) {}

void CacheNodeSlot::run() {
  protocol::Occupancy occupancy{.departs = Seconds(std::numeric_limits<double>::infinity())};
  // Where the job has started again, its machine may have departed before.
  if (job_.generation() == nullptr || job_.generation()->number() == 0) {
    occupancy.incarnation = 1;
    live(occupancy);
  }
  while (true) {
    const Note note = steward_.wait();
    if (protocol::holds<protocol::End>(note)) return steward_.close();
    const auto next = protocol::unpack<protocol::Occupancy>(note);
    // Else it is about the node that has ended.
    if (next.incarnation > occupancy.incarnation) live(occupancy = next);
  }
}

void CacheNodeSlot::live(const protocol::Occupancy& occupancy) {
  OccupantContext context(context_, steward_, occupancy);
  const ServedJob served{.job = &job_, .journal = &journal_};
  std::optional<CacheNode> node;
  const TransferGuard transfers(context);
  try {
    node.emplace(std::span(&served, 1), context, index_,
                 CacheNode::Life{.incarnation = occupancy.incarnation, .records = &records_});
    node->run();
    context.end();
  } catch (const OccupantDeparted&) {
    constexpr int of_no_worker = -1;
    journal_.membership.push_back({.time = context_.now(),
                                   .slot = of_no_worker,
                                   .incarnation = occupancy.incarnation + occupancy.before,
                                   .host = job_.roster().host_of(context_.rank()),
                                   .event = "gone"});
    if (node) node->record_departure();
  }
}

}  // namespace tandem

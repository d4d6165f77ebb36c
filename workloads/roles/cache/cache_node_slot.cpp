#include "workloads/roles/cache/cache_node_slot.hpp"

#include <optional>

#include "workloads/membership/occupant_context.hpp"
#include "workloads/roles/cache/cache_node.hpp"
#include "workloads/roles/cache/served_job.hpp"

namespace tandem {

CacheNodeSlot::CacheNodeSlot(const Job& job, Context& context, Journal& journal, int index)
    : job_(job),
      journal_(journal),
      index_(index),
      slot_(job, context, journal),
      records_(job, context.rank(), journal) {}

void CacheNodeSlot::run() {
  slot_.run([this](Context& context, int incarnation) { live(context, incarnation); });
}

void CacheNodeSlot::live(Context& context, int incarnation) {
  const ServedJob served{.job = &job_, .journal = &journal_};
  std::optional<CacheNode> node;
  const TransferGuard transfers(context);
  try {
    node.emplace(std::span(&served, 1), context, index_,
                 CacheNode::Life{.incarnation = incarnation, .records = &records_});
    node->run();
  } catch (const OccupantDeparted&) {
    if (node) node->record_departure();
    throw;
  }
}

}  // namespace tandem

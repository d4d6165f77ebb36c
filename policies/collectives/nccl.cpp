#include "policies/collectives/nccl.hpp"

#include <algorithm>
#include <bit>

namespace tandem::collectives {
namespace {

/// Of one message.
Seconds latency_of(int ranks, const RingTime& ring) { return ring.latencies / (2.0 * (ranks - 1)); }

}  // namespace

Seconds nccl_ring(int ranks, const RingTime& ring) {
  constexpr double slices_in_flight = 4;
  return std::max(ring.transfers, ring.latencies + ring.transfers / slices_in_flight) +
         latency_of(ranks, ring);
}

Seconds nccl_tree(int ranks, const RingTime& ring) {
  constexpr double efficiency = 0.92;
  const double levels = std::bit_width(static_cast<unsigned>(ranks - 1));
  return ring.transfers * (ranks / (ranks - 1.0)) / efficiency + latency_of(ranks, ring) * (2 * levels);
}

NcclTime nccl_all_reduce(int ranks, const RingTime& ring) {
  const Seconds around = nccl_ring(ranks, ring), through_trees = nccl_tree(ranks, ring);
  if (through_trees < around) return {"tree", through_trees};
  return {"ring", around};
}

}  // namespace tandem::collectives

#include "policies/collectives/nccl.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "policies/vocabulary/check.hpp"

namespace tandem::collectives {
namespace {

Seconds longest_hop(const RingCost& ring) {
  TANDEM_CHECK(ring.hops.size() >= 2, "ranks", ring.hops.size());
  return *std::ranges::max_element(ring.hops);
}

/// The latencies that the slowest piece passes: those of two rounds around the ring, without two successive
/// hops.
Seconds latencies_of(const RingCost& ring) {
  const auto& hops = ring.hops;
  Seconds left_out = hops.back() + hops.front();
  for (std::size_t hop = 1; hop < hops.size(); ++hop)
    left_out = std::min(left_out, hops[hop - 1] + hops[hop]);
  return std::accumulate(hops.begin(), hops.end(), Seconds(0)) * 2 - left_out;
}

}  // namespace

Seconds nccl_ring(const RingCost& ring) {
  constexpr double slices_in_flight = 4;
  const Seconds last = longest_hop(ring);
  return std::max(ring.transfers, latencies_of(ring) + ring.transfers / slices_in_flight) + last;
}

Seconds nccl_tree(const RingCost& ring) {
  constexpr double efficiency = 0.92;
  const Seconds between = longest_hop(ring);
  const auto ranks = static_cast<double>(ring.hops.size());
  Seconds inside{0};
  unsigned machines = 0;
  for (const Seconds hop : ring.hops)
    if (hop * 2 >= between)
      ++machines;
    else
      inside = std::max(inside, hop);
  const double levels = std::bit_width(std::max(machines, 2U) - 1);
  const double chain = std::ceil(ranks / machines) - 1;
  return ring.transfers * (ranks / (ranks - 1.0)) / efficiency + between * (2 * levels) +
         inside * (2 * chain);
}

NcclTime nccl_all_reduce(const RingCost& ring) {
  const Seconds around = nccl_ring(ring), through_trees = nccl_tree(ring);
  if (through_trees < around) return {"tree", through_trees};
  return {"ring", around};
}

}  // namespace tandem::collectives

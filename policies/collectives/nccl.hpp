// The time of NCCL's all-reduce, which is the faster of a ring and a double binary tree.
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::collectives {

/// What the network does to the ring of p >= 2 ranks that sum n bytes.
struct RingCost {
  Seconds transfers;          ///< of 2 (p - 1) steps, one after the other: 2 (p - 1) / p n beta
  std::vector<Seconds> hops;  ///< p latencies of a message: from each rank to the next, the last to the first
};

struct NcclTime {
  std::string algorithm;  ///< "ring", "tree"
  Seconds time;
};

/// NCCL passes a piece on in slices, and two channels of two slices each share a link. Latencies so hide
/// behind the transfer of other slices: a step takes the longer of n / p beta and alpha + n / (4 p) beta. A
/// piece passes 2 (p - 1) hops, each with its own latency: of m machines, 2 m are between machines. Source:
/// NVIDIA/nccl, ALLREDUCE_CHUNKSTEPS over ALLREDUCE_SLICESTEPS (collectives.h), the channels that
/// ncclTopoPostset doubles (graph/connect.cc), and the latencies of graph/tuning.cc.
Seconds nccl_ring(const RingCost& ring);

/// Each rank sends and receives 2 n bytes, at 0.92 of the bandwidth, while the first slice passes up and
/// down: 2 lg m levels between m machines, and a chain inside each. Hops below half of the longest latency
/// are inside; where all are alike, each rank is a machine. Source: NVIDIA/nccl, graph/tuning.cc; Sanders,
/// Speck, Träff, Parallel Computing 35(12), 2009.
Seconds nccl_tree(const RingCost& ring);

/// NCCL takes the one that its own prediction says is faster.
NcclTime nccl_all_reduce(const RingCost& ring);

}  // namespace tandem::collectives

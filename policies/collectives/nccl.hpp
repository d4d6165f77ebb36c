// The time of NCCL's all-reduce, which is the faster of a ring and a double binary tree.
#pragma once

#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem::collectives {

/// The time of a ring that takes one step after the other (`price` of "ring"), in two parts. They say what
/// the network does to n bytes: the transfers are 2 (p - 1) / p n beta, the latencies 2 (p - 1) alpha.
struct RingTime {
  Seconds transfers;
  Seconds latencies;
};

struct NcclTime {
  std::string algorithm;  ///< "ring", "tree"
  Seconds time;
};

/// NCCL passes a piece on in slices, and two channels of two slices each share a link. Latencies so hide
/// behind the transfer of other slices: a step takes the longer of n / p beta and alpha + n / (4 p) beta.
/// Pre: ranks >= 2. Source: NVIDIA/nccl, ALLREDUCE_CHUNKSTEPS over ALLREDUCE_SLICESTEPS (collectives.h), and
/// the channels that ncclTopoPostset doubles (graph/connect.cc).
Seconds nccl_ring(int ranks, const RingTime& ring);

/// Each rank sends and receives 2 n bytes, at 0.92 of the bandwidth, while the first slice passes 2 lg p
/// levels. Pre: ranks >= 2. Source: NVIDIA/nccl, graph/tuning.cc; Sanders, Speck, Träff, Parallel Computing
/// 35(12), 2009.
Seconds nccl_tree(int ranks, const RingTime& ring);

/// NCCL takes the one that its own prediction says is faster. Pre: ranks >= 2.
NcclTime nccl_all_reduce(int ranks, const RingTime& ring);

}  // namespace tandem::collectives

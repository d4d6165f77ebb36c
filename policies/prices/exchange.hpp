// The time of one exchange of gradients or models among n workers, in closed form: for numbers of workers for
// which the messages of a schedule are too many to add up (collectives::price does that, and is equal to
// these on a uniform network). Sources: Thakur, Rabenseifner, Gropp: Optimization of collective communication
// operations in MPICH. IJHPCA 19(1), 2005; for chains of pieces, Sanders, Speck, Träff: Two-tree algorithms.
// Parallel Computing 35, 2009.
#pragma once

#include "policies/vocabulary/units.hpp"

namespace tandem::prices {

/// Of every worker, each direction for itself. The slowest link of a ring paces all.
struct Link {
  Seconds latency;  ///< of a message, with its start
  BytesPerSecond rate{0.0};
};

/// Adding one vector to another. A rate of 0: takes no time.
struct Reduction {
  BytesPerSecond rate{0.0};
};

// Pre (all): workers >= 1, rate of the link > 0. One worker needs no time.

/// 2 (n - 1) (latency + M / (n rate)) + (n - 1) / n M / reduction.
Seconds ring(int workers, Bytes size, const Link& link, const Reduction& reduction);
/// 2 log2 n latency + 2 (1 - 1/n) M / rate + (1 - 1/n) M / reduction. Pre: the workers are a power of two;
/// every pair has the full rate.
Seconds halving_doubling(int workers, Bytes size, const Link& link, const Reduction& reduction);
/// ceil(log2 n) (latency + M / rate + M / reduction). For small vectors.
Seconds recursive_doubling(int workers, Bytes size, const Link& link, const Reduction& reduction);
/// To the root of a binary tree and back in `pieces`: 2 (depth + pieces - 1) (latency + M / (pieces rate)).
Seconds tree_in_pieces(int workers, Bytes size, int pieces, const Link& link);
/// The number of pieces with the smallest time: sqrt((depth - 1) M / (latency rate)), at least 1.
int best_pieces(int workers, Bytes size, const Link& link);
/// Machines of `inside` workers each: a reduce-scatter and an all-gather inside, and between them all-reduces
/// of the parts over rings of machines, which share the card of a machine.
Seconds hierarchical(int machines, int inside, Bytes size, const Link& within, const Link& between,
                     const Reduction& reduction);

/// Local steps of a worker in a round of ESync: those that fit the pace of the slowest, at least 1.
int esync_steps(Seconds pace, Seconds step);

}  // namespace tandem::prices

// The schedules of this folder, one file each. Other code finds them in the catalogue.
#pragma once

#include "policies/collectives/schedule.hpp"

namespace tandem::collectives {

/// Ring reduce-scatter, then ring all-gather: 2 (size - 1) rounds.
Schedule ring(int self, const Groups& groups, std::int64_t elements);

/// The same ring. A piece that is reduced is sent in up to four chunks of at least 16384 elements: one is
/// reduced while the next arrives. A step then lasts as long as the longer of transfer and reduction, plus
/// one chunk.
Schedule pipelined_ring(int self, const Groups& groups, std::int64_t elements);

/// Recursive halving reduce-scatter, then recursive doubling all-gather: 2 lg size rounds for a power of two.
/// Otherwise the surplus participants first fold their whole vector into a neighbour and get the result last.
Schedule halving_doubling(int self, const Groups& groups, std::int64_t elements);

/// Recursive halving in blocks whose sizes are different powers of two; the sums of each block go to the next
/// larger one, and back. 2 lg size rounds for a power of two, as halving_doubling.
Schedule binary_blocks(int self, const Groups& groups, std::int64_t elements);

/// Exchanges of the whole vector: lg size rounds for a power of two. Otherwise the surplus participants first
/// fold their vector into a neighbour and get the result last.
Schedule recursive_doubling(int self, const Groups& groups, std::int64_t elements);

/// Binomial reduction to participant 0, then binomial broadcast: 2 ceil(lg size) rounds.
Schedule tree(int self, const Groups& groups, std::int64_t elements);

/// Two binary trees, each for one half of the vector in `double_tree_chunks` chunks: 4 (h + chunks - 1)
/// rounds, where h = floor(lg size) is the height of both trees.
Schedule double_tree(int self, const Groups& groups, std::int64_t elements);
/// The same for all participants, which share the trees.
Schedules double_trees(const Groups& groups);
/// Chunks per tree: sqrt((h - 1) n beta / (2 alpha)), at least 1. With it, 2 (h + chunks - 1) messages of n
/// / (2 chunks) bytes are fastest. A schedule does not know the network; it assumes that a latency costs as
/// much as 4096 elements.
int double_tree_chunks(int size, std::int64_t elements);

/// Rings inside the groups, and rings across them for each of as many segments as the smallest group has
/// members: 2 (q - 1) + 2 (m - 1) rounds for m groups of q. With one group it is one ring.
Schedule hierarchical(int self, const Groups& groups, std::int64_t elements);

}  // namespace tandem::collectives

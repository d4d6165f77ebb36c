// Which messages pass through the memory that the ranks of a node share, and which travel in MPI's messages.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/mpi/node_memory.hpp"
#include "workloads/context.hpp"

namespace tandem {

class NodeMemoryPath {
 public:
  /// Null: there is no such memory.
  explicit NodeMemoryPath(std::shared_ptr<NodeMemory> memory) : memory_(std::move(memory)) {}

  /// Place of a payload that is not in the shared memory.
  static constexpr std::int64_t none = -1;

  bool reaches(Rank peer) const { return memory_ && memory_->reaches(peer); }
  /// Bytes up to which a payload travels in one MPI message with its envelope.
  std::int64_t packed_most(Rank peer) const { return reaches(peer) ? packed_on_node : packed_elsewhere; }
  /// The most of all peers.
  static constexpr std::int64_t packed_limit() { return packed_elsewhere; }

  /// A place for a payload of host memory; `none` where the peer is not reached or there is no room now.
  std::int64_t reserve(Rank to, Bytes size) {
    return reaches(to) ? memory_->reserve(size.count()).value_or(none) : none;
  }
  NodeMemory& memory() { return *memory_; }

 private:
  // Up to here a copy costs less than a second message.
  static constexpr std::int64_t packed_elsewhere = 16 * 1024;
  // More would wait in MPI until it is received; the shared memory holds it instead.
  static constexpr std::int64_t packed_on_node = 3 * 1024;

  std::shared_ptr<NodeMemory> memory_;
};

}  // namespace tandem

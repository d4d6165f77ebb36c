// Which messages pass through the memory that the ranks of a node share, and which travel in MPI's messages.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/mpi/node_memory.hpp"
#include "runtime/mpi/node_routes.hpp"
#include "workloads/context.hpp"

namespace tandem {

class NodeMemoryPath {
 public:
  /// `memory`: null: there is none. `routes`: the same on all ranks of a machine.
  NodeMemoryPath(std::shared_ptr<NodeMemory> memory, NodeRoutes routes)
      : memory_(std::move(memory)), routes_(std::move(routes)) {}

  /// Place of a payload that is not in the shared memory.
  static constexpr std::int64_t none = -1;

  bool reaches(Rank peer) const { return memory_ && memory_->reaches(peer); }
  /// Bytes up to which a payload travels in one MPI message with its envelope.
  std::int64_t packed_most(Rank peer) const { return reaches(peer) ? packed_on_node : packed_elsewhere; }
  /// The largest packed_most() of all peers.
  static constexpr std::int64_t packed_limit() { return packed_elsewhere; }

  /// A place for a payload of host memory; `none` if the peer is not reached, MPI is faster or there is no
  /// room now.
  std::int64_t reserve(Rank to, Bytes size) {
    const bool shares = reaches(to) && routes_.of(size) != NodeRoute::library;
    return shares ? memory_->reserve(size.count()).value_or(none) : none;
  }
  /// Copies a payload into its place.
  void put(std::int64_t place, const Slice& slice) {
    memory_->put(place, slice.data, slice.size.count(), routes_.of(slice.size) == NodeRoute::streamed);
  }
  NodeMemory& memory() { return *memory_; }

 private:
  // Up to this size a copy costs less than a second message.
  static constexpr std::int64_t packed_elsewhere = 16 * 1024;
  // A larger payload would wait in MPI until it is received; the shared memory holds it instead.
  static constexpr std::int64_t packed_on_node = 3 * 1024;

  std::shared_ptr<NodeMemory> memory_;
  NodeRoutes routes_;
};

}  // namespace tandem

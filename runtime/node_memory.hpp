// Memory that the ranks of one node share, through which large messages between them pass: their sender
// copies them in and their receiver out. Knows MPI, which makes that memory, but sends nothing itself.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Each rank puts its messages into a part of its own. Where Open MPI copies a large message once, out of the
/// memory of another process, the kernel looks up each of its pages; two plain copies take half of that time.
/// Not thread-safe.
class NodeMemory {
 public:
  /// Collective over `communicator`, by whose numbers ranks are asked for. Errors: WorldError.
  explicit NodeMemory(MPI_Comm communicator);
  /// Collective, unless an exception leads here.
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  /// Whether messages from and to `rank` can pass through here; both of them get the same answer.
  bool reaches(Rank rank) const { return parts_.at(static_cast<std::size_t>(rank)) != nullptr; }
  bool reaches_all() const { return std::ranges::find(parts_, nullptr) == parts_.end(); }
  /// Bytes of the largest message that can be put: the node's ranks together have so many under way that two
  /// copies within the caches still take less time than one out of them. 0: none can.
  std::int64_t largest() const { return largest_; }

  /// Copies a message in and says where it is; nothing when it is too large or there is no room for it now.
  /// Pre: size positive.
  std::optional<std::int64_t> put(const std::byte* message, std::int64_t size);
  /// Copies out what `from` said it has put, once, and frees its place. Pre: reaches(from).
  void take(Rank from, std::int64_t place, std::byte* message, std::int64_t size);

 private:
  /// At the begin of a place, in front of the message, and as large as what processors share at once.
  struct alignas(64) Head {
    std::atomic<std::uint32_t> is_full;
  };
  struct Place {
    std::int64_t begin;
    std::int64_t size;
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

  static std::int64_t place_size(std::int64_t message);
  bool is_full(const Place& place) const;
  const Place* free_place(std::int64_t size);

  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> parts_;  ///< of each rank; null: not of this node, or without one
  std::byte* own_ = nullptr;
  std::int64_t largest_ = 0;
  std::int64_t room_ = 0;
  std::vector<Place> places_;  ///< into which this rank's part is divided so far, one behind the other
};

}  // namespace tandem

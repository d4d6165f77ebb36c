// Memory that the ranks of one node share, through which large messages between them pass: the sender copies
// them in and the receiver out. Knows MPI, which makes that memory, but sends nothing itself.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Each rank puts its messages into a part of its own. Open MPI copies a large message once, out of the
/// memory of another process, but the kernel must look up each page. Two copies by the ranks themselves,
/// pipelined, may take less time (node_routes.hpp). Not thread-safe.
class NodeMemory {
 public:
  /// Pages that are never written take no memory.
  static constexpr Bytes most_room{std::int64_t{128} << 20};
  /// Collective over `communicator`, whose rank numbers all functions use. `room`: at most so much for each
  /// rank's messages. Errors: WorldError.
  explicit NodeMemory(MPI_Comm communicator, Bytes room = most_room);
  /// Collective, unless an exception leads here.
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  /// Whether messages from and to `rank` can pass through here; both of them get the same answer.
  bool reaches(Rank rank) const { return parts_.at(static_cast<std::size_t>(rank)) != nullptr; }
  bool reaches_all() const { return std::ranges::find(parts_, nullptr) == parts_.end(); }
  /// Bytes of the largest message that can be put. 0: none can.
  std::int64_t largest() const { return largest_; }

  /// Reserves a place for a message. The place can be sent to the receiver before the message is put.
  /// Nothing when the message is too large or there is no room now. Pre: size positive.
  std::optional<std::int64_t> reserve(std::int64_t size);
  /// Copies a message in, once. `past_caches`: see streamed_copy. Pre: its place is reserved.
  void put(std::int64_t place, const std::byte* message, std::int64_t size, bool past_caches = false);
  /// Copies a message out of the place that `from` has reserved, once, and frees the place. Calls `pause`
  /// between two polls for bytes that `from` has not put yet. Pre: reaches(from); `from` puts the message
  /// before it does anything else.
  void take(Rank from, std::int64_t place, std::byte* message, std::int64_t size,
            const std::function<void()>& pause);

 private:
  /// In front of the message, and of the size of a cache line.
  struct alignas(64) Head {
    std::atomic<std::int64_t> there;  ///< bytes of the message, or unused
  };
  struct Place {
    std::int64_t begin;
    std::int64_t size;
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
  static constexpr std::int64_t unused = -1;

  static std::int64_t place_size(std::int64_t message);
  static Head& head_of(std::byte* place) { return *reinterpret_cast<Head*>(place); }
  bool is_used(const Place& place) const;
  const Place* free_place(std::int64_t size);

  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> parts_;  ///< of each rank; null: not of this node, or without one
  std::byte* own_ = nullptr;
  std::int64_t largest_ = 0;
  std::int64_t room_ = 0;
  std::vector<Place> places_;  ///< into which this rank's part is divided so far, in order
};

}  // namespace tandem

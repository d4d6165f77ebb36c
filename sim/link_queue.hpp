// The bytes of a connection that wait before the narrowest link of its route.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <simgrid/s4u.hpp>

#include "sim/finishable.hpp"
#include "sim/network.hpp"

namespace tandem::sim {

/// Moves the bytes of a connection over the links before the narrowest one, in chunks, ahead of the receiver
/// while the queue has room. The connection takes them from the queue over the other links.
class LinkQueue final : public Finishable {
 public:
  /// The narrowing must outlive it. `arrived`: called when bytes have entered the queue, or, with false, when
  /// a link failed. Kernel context.
  LinkQueue(Network& network, const Network::Narrowing& narrowing, std::function<void(bool)> arrived);

  /// Messages of this size and larger wait in queues. Smaller ones would cost much time to simulate, and
  /// change little.
  bool holds(std::uint64_t size) const { return size >= least_message_ && size <= largest_message_; }
  /// The terms of the messages from now on.
  void set_terms(const Network::Terms& terms);
  /// A message is sent; its first byte starts `additional_latency_s` later. Kernel context.
  void add(std::uint64_t size, double additional_latency_s);
  /// Bytes in the queue.
  std::uint64_t size() const { return size_; }
  /// Bytes that may start over the other links. Some of them may not be in the queue yet: the first bytes of
  /// a chunk leave it while the last ones are in flight. They arrive only after they have been in the queue.
  std::uint64_t portion() const { return std::min(size_ + on_the_way_, largest_); }
  /// These bytes of the queue have arrived at the receiver. Kernel context.
  void take(std::uint64_t bytes);
  /// The message was lost, with this many bytes that had not arrived. Kernel context.
  void drop(std::uint64_t bytes);

  void finish(bool succeeded) override;

 private:
  void start_chunk(double latency_s);

  static constexpr std::uint64_t least_message_ = 16 << 10;
  Network& network_;
  const Network::Narrowing& narrowing_;
  std::function<void(bool)> arrived_;
  Network::Terms terms_;
  std::uint64_t largest_;             ///< chunk
  std::uint64_t largest_message_;     ///< above it, the queue holds too small a share of a message to matter
  std::deque<std::uint64_t> unsent_;  ///< bytes of each message that have not started
  std::uint64_t on_the_way_ = 0;      ///< of the chunk in flight
  std::uint64_t size_ = 0;
  std::uint64_t lost_ = 0;  ///< bytes of lost messages in the chunk
  simgrid::s4u::CommPtr comm_;
  simgrid::s4u::CommPtr other_comm_;  ///< for the next chunk: an activity cannot be restarted while it ends
  Network::Timer* timer_ = nullptr;
};

}  // namespace tandem::sim

// What the context on MPI holds for each started operation. Plain data.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/gpu/device_copies.hpp"
#include "workloads/context.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

/// Work in the queue of the device: where its kernel began, and where it ends.
struct Stretch {
  OwnedMark begin;
  OwnedMark end;
};
using SharedStretch = std::shared_ptr<const Stretch>;
struct QueuedWork {
  SharedStretch own;
  SharedStretch before;  ///< of the kernel that said its end before this one did, if they do
};

struct IncomingChannel;

struct Slot {
  static constexpr std::int64_t unknown_size = -1;
  enum class State : std::uint8_t { free, messages, timed, queued, summed, done };
  enum class Way : std::uint8_t { none, send, receive };  ///< of a message

  State state = State::free;
  Way way = Way::none;
  Outcome outcome = Outcome::done;
  bool has_envelope = false;  ///< of a receive with one: its first message has arrived
  bool is_sleep = false;
  bool is_drain = false;        ///< a receive of the transport's own, whose message is thrown away
  bool awaits_verdict = false;  ///< of a send: the receiver was asked whether it can be withdrawn
  int open_messages = 0;        ///< not yet complete
  Rank peer = 0;
  int payload_tag = 0;
  Channel channel;
  std::int64_t number = 0;  ///< of a send or a drain: number of the message on its channel, from 1
  Seconds deadline;         ///< of a timed operation
  Note note;
  IncomingChannel* stream = nullptr;  ///< of a receive with an envelope whose payload is not on its way
  Slice slice;
  std::unique_ptr<std::byte[]> staging;  ///< made on first use, kept for the slot's next operations
  std::byte* head = nullptr;             ///< of a receive with an envelope: where that arrives
  std::vector<std::byte> summand;        ///< of an all-reduce: this rank's vector, whose place takes the sum
  PinnedPool::Block block;               ///< of what goes through pinned memory
  std::byte* landing = nullptr;          ///< what comes, in that memory; it is copied on when all has arrived
  std::int64_t landed = unknown_size;    ///< its bytes
  QueuedWork work;
  std::uint32_t sum = 0;                      ///< of an all-reduce by the devices: its number there
  MPI_Comm own_communicator = MPI_COMM_NULL;  ///< of an all-reduce over members whose is not kept

  /// Over, but not yet waited for.
  void end() {
    state = State::done;
    landing = nullptr;
    block = {};
  }
};

/// Slots keep their addresses and are used again.
class SlotTable {
 public:
  std::uint32_t acquire(Slot::State state);
  /// Makes room for another operation.
  void release(std::uint32_t number);
  Slot& operator[](std::uint32_t number) { return slots_[number]; }
  const Slot& operator[](std::uint32_t number) const { return slots_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(slots_.size()); }

 private:
  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace tandem

// The state of each started operation of the context on MPI. Plain data.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/gpu/device_copies.hpp"
#include "runtime/mpi/transfers.hpp"
#include "workloads/context.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

/// Work in the queue of the device: the marks at which its kernel began and ends.
struct Stretch {
  OwnedMark begin;
  OwnedMark end;
};
using SharedStretch = std::shared_ptr<const Stretch>;
struct QueuedWork {
  SharedStretch own;
  SharedStretch before;  ///< of the previous kernel that reported its end, if both did
};

struct IncomingChannel;

struct Operation {
  static constexpr std::int64_t unknown_size = -1;
  enum class State : std::uint8_t { free, messages, timed, transfer, queued, summed, done };
  enum class Direction : std::uint8_t { none, send, receive };  ///< of a message

  State state = State::free;
  Direction direction = Direction::none;
  Outcome outcome = Outcome::done;
  bool has_envelope = false;  ///< of a receive with an envelope: its first message has arrived
  bool is_sleep = false;
  bool is_work = false;    ///< of a timed operation: the work of an emulated device
  bool is_slowed = false;  ///< of such work: messages in flight slow it down
  bool is_all_reduce = false;
  bool is_drain = false;        ///< an internal receive, whose message is discarded
  bool awaits_verdict = false;  ///< of a send: the receiver was asked whether it can be cancelled
  int open_messages = 0;        ///< not yet complete
  Rank peer = 0;
  int payload_tag = 0;
  Channel channel;
  std::int64_t number = 0;  ///< of a send or a drain: number of the message on its channel, from 1
  int disk = 0;             ///< of a transfer
  Seconds deadline;         ///< of a timed operation, and of a transfer of an emulated disk: not before this
  Seconds ended;            ///< when this rank noticed the end of an operation that is done
  Note note;
  IncomingChannel* stream = nullptr;  ///< of a receive whose payload has not been requested yet
  Slice slice;
  std::unique_ptr<std::byte[]> staging;  ///< made on first use, kept for its next use
  std::byte* head = nullptr;             ///< of a receive with an envelope: where the envelope arrives
  PinnedPool::Block block;               ///< pinned memory, if the payload passes through it
  std::byte* landing = nullptr;          ///< received data in that memory; copied to the device when complete
  std::int64_t landed = unknown_size;    ///< number of received bytes
  QueuedWork work;
  std::shared_ptr<const Transfer> transfer;
  std::uint32_t sum = 0;                      ///< of an all-reduce by the devices: its number there
  MPI_Comm own_communicator = MPI_COMM_NULL;  ///< of an all-reduce whose communicator is not kept

  /// Data of the operation is being sent, by what this rank knows: not before a message's envelope has
  /// arrived.
  bool is_in_flight() const;
  /// Marks the operation as ended at `now` but not yet waited for. All times are by the clock of the host.
  void end(Seconds now) {
    state = State::done;
    ended = now;
    landing = nullptr;
    block = {};
  }
};

/// Operations keep their addresses and are reused.
class OperationTable {
 public:
  std::uint32_t acquire(Operation::State state);
  /// An operation that has ended at `now`.
  std::uint32_t acquire_done(Seconds now);
  /// Frees it for another operation.
  void release(std::uint32_t number);
  Operation& operator[](std::uint32_t number) { return operations_[number]; }
  const Operation& operator[](std::uint32_t number) const { return operations_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(operations_.size()); }
  bool has_messages_in_flight() const;
  /// The rest of all slowed work takes this factor as long, from `now` on.
  void stretch_work(Seconds now, double factor);

 private:
  std::deque<Operation> operations_;
  std::vector<std::uint32_t> free_;
};

}  // namespace tandem

// The interface between a role and its environment: compute, send, receive, read, write, sleep. sim/ (SimGrid
// actors) and runtime/ (MPI ranks) implement it; a role cannot tell which implementation it uses. Operations
// start without blocking.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "policies/collectives/element.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem {

class ComputeDevice;
ComputeDevice& host_device();

/// What is computed, with all that determines its time. `bucket` indexes the model's buckets; -1 if the work
/// does not belong to a bucket.
struct Work {
  enum class Kind : std::uint8_t {
    forward,
    backward,
    update,
    reduce,
    decode,
    evaluate,
    compress,
    decompress,
    push,   ///< the work of a server for one push of a worker, if its host states that cost
    reply,  ///< the same for one reply
    launch  ///< the processor launches a step, for a device that waits for it
  };
  Kind kind;
  int bucket = -1;
  int samples = 0;  ///< of forward, backward, decode, evaluate
  /// Of update, reduce, compress, decompress: size of the vector worked on, as floats. Of push, reply: size
  /// on the wire.
  Bytes bytes{0};
  int step = -1;  ///< of decode, forward, launch: the worker's step, counted since the job began; -1: none
  /// Runs concurrently with the device's other work: neither delays the other.
  bool concurrent = false;
  int tensors = 0;  ///< of push, reply: in the message
  Bytes stored{0};  ///< of decode: size of the samples as they are stored; `bytes` is that of their records
};

/// Sums and compressions of a bucket, whose input is complete when they start. A GPU does them in a second
/// queue: one after the other, while the first queue computes other buckets.
constexpr bool is_of_finished_bucket(const Work& work) {
  return work.bucket >= 0 && (work.kind == Work::Kind::reduce || work.kind == Work::Kind::compress ||
                              work.kind == Work::Kind::decompress);
}

/// The work is that of a server whose host states what pushes and replies cost. It takes one core of the
/// host, whatever device computes there.
constexpr bool is_stated_of_server(const Work& work) {
  return work.kind == Work::Kind::push || work.kind == Work::Kind::reply;
}

inline constexpr std::array<const char*, 11> work_names = {"forward", "backward", "update",   "reduce",
                                                           "decode",  "evaluate", "compress", "decompress",
                                                           "push",    "reply",    "launch"};
constexpr const char* name_of(Work::Kind kind) { return work_names[static_cast<std::size_t>(kind)]; }

/// The calculation itself with real mathematics; empty with modelled mathematics. Runs once, before the work
/// is done.
using Kernel = std::function<void()>;

/// Bytes on the wire: a size, and the memory when math is real (null when modelled).
/// The memory must stay valid and, for a send, unchanged until the operation was waited for.
struct Slice {
  Bytes size{0};
  std::byte* data = nullptr;
};

/// A small block of bytes that is sent with a message. Sender and receiver agree on its meaning
/// (workloads/protocol.hpp). All bytes are 0 if there is no note.
struct Note {
  std::array<std::byte, 40> bytes{};
  bool operator==(const Note&) const = default;
};

/// Names a sequence of messages between two ranks: messages of one (sender, receiver, channel) arrive in
/// order. The roles define the streams and which of them carry notes
/// (workloads/protocol.hpp); sender and receiver agree.
struct Channel {
  static constexpr int most_streams = 128;
  static constexpr int no_bucket = -1;

  std::int16_t stream = 0;          ///< 0 to most_streams - 1
  bool carries_note = false;        ///< each message of the channel brings a note
  std::int32_t bucket = no_bucket;  ///< distinguishes the channels of one stream

  /// A different number for each stream and bucket.
  constexpr std::int32_t number() const { return stream + most_streams * (bucket + 1); }
  bool operator==(const Channel&) const = default;
};

/// A started operation. Must be waited for exactly once and is empty afterwards. Only its context reads its
/// content.
class [[nodiscard]] Pending {
 public:
  Pending() = default;
  explicit Pending(std::uint32_t number) : number_(number) {}
  Pending(Pending&& other) noexcept : number_(other.release()) {}
  Pending& operator=(Pending&& other) noexcept {
    number_ = other.release();
    return *this;
  }
  bool empty() const { return number_ == none; }
  std::uint32_t number() const { return number_; }
  std::uint32_t release() {
    const std::uint32_t number = number_;
    number_ = none;
    return number;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  std::uint32_t number_ = none;
};

/// How an operation ended.
enum class Outcome : std::uint8_t {
  done,
  peer_left,  ///< of a message: the other rank had announced its departure before the message was received
  cancelled   ///< see Context::cancel
};

/// The result of a finished operation.
struct Completion {
  std::size_t index = 0;  ///< in the span given to wait_any; 0 from wait
  Note note;              ///< of a receive on a channel that carries notes
  /// For work on a device with its own clock: the duration by that clock.
  std::optional<Seconds> device_time = {};
  Outcome outcome = Outcome::done;
};

/// A transfer between memory and a disk.
struct DiskAccess {
  DiskAccess(Bytes size_, std::int64_t requests_ = 1) : size(size_), requests(requests_) {}
  static DiskAccess of_state(Bytes size) {
    DiskAccess access(size);
    access.is_state = true;
    return access;
  }
  Bytes size;
  std::int64_t requests;  ///< requests to the disk, each of which pays its latency, if known; at least 1
  bool is_state = false;  ///< of a commit or a checkpoint
};

/// The environment of one rank. Errors: WorldError when MPI, a device or the file system fails.
class Context {
 public:
  virtual ~Context() = default;

  virtual Rank rank() const = 0;
  virtual int world_size() const = 0;
  /// Runs this rank's kernels. The data of slices is in its memory or in the host's.
  virtual ComputeDevice& device() { return host_device(); }
  /// Time since the job began. For records and events only; roles never branch on it.
  virtual Seconds now() const = 0;

  /// Computes on this rank's device, in the order of the calls except for concurrent work. Ranks on one
  /// device share it. Sums, compressions and decompressions of a bucket may overtake earlier work: their
  /// input is complete, and no other work writes it.
  virtual Pending compute(const Work& work, Kernel kernel = {}) = 0;
  /// Starts a message. `note` travels with it iff the channel carries notes. Size 0 is allowed.
  virtual Pending send(Rank to, Channel channel, Slice slice, const Note& note = {}) = 0;
  /// Posts a receive for the next message of (from, channel). A shorter message may arrive.
  virtual Pending receive(Rank from, Channel channel, Slice slice) = 0;
  /// Starts an all-reduce of the library: a sum of elements over the members, in place. The library chooses
  /// the order of the additions, the same for all members; sums of 16-bit elements are rounded after each
  /// addition, or less often. With bytes, an all-gather: the vector has one equal part for each member, in
  /// their order; each gives its own part and gets those of all. This rank is one of the members; all of them
  /// give the same list and start the same all-reduces over it in the same order, with equal channels, sizes
  /// and elements.
  /// The caller must not access the vector before it has waited for the operation. With one member, or no
  /// elements, the operation ends immediately.
  virtual Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                             const collectives::Element& element = collectives::float_element) = 0;
  /// Moves bytes from or to disk number `disk` of this rank's host, whose ranks share it. `transfer`, the
  /// real input or output, may run until the wait, on another thread; its errors come at the wait.
  virtual Pending read(int disk, DiskAccess access, Kernel transfer = {}) = 0;
  virtual Pending write(int disk, DiskAccess access, Kernel transfer = {}) = 0;
  virtual Pending sleep(Seconds duration) = 0;

  /// Whether a wait for it would return immediately. Never blocks. Pre: not empty.
  virtual bool is_done(const Pending& pending) = 0;
  /// Blocks until the operation is done. Pre: not empty.
  virtual Completion wait(Pending& pending) = 0;
  /// Blocks until one is done and empties it. Of several, it takes the one that ended first, so that every
  /// peer of a busy rank is served. Of those that ended at the same time, it takes the lowest index. On MPI
  /// a message ends when this rank notices it, and it looks only while it waits. Empty entries are skipped.
  /// Pre: at least one is not empty.
  virtual Completion wait_any(std::span<Pending> pendings) = 0;

  /// Cancels a sleep, or a message whose send and receive have not matched. It must still be waited for, and
  /// ends with `cancelled`. The message of a cancelled receive goes to the next receive of the channel. The
  /// bytes of a cancelled send never arrive; the receive gets the next message. On MPI, the wait for a
  /// cancelled send may last until the peer has posted receives for the earlier messages of the channel.
  /// Operations that have matched, work, disk transfers and all-reduces are not affected. Pre: not empty.
  void cancel(const Pending& pending) { cancel_all({&pending, 1}); }
  /// Cancels several operations as one: no message meets one of them because another one of them does not
  /// receive it any more. The memory of that one may be too small for the message. Empty entries are
  /// skipped.
  virtual void cancel_all(std::span<const Pending> pendings) = 0;
  /// Stops all work of this rank whose time is simulated or emulated: it ends with `cancelled`, and the
  /// device is free. Its kernels have run. Work in the queue of a real device and disk transfers continue.
  virtual void stop_work() = 0;
  /// Ends the open operations between this rank and another one. Own receives that have not matched a
  /// message of the peer end with `cancelled`. Messages of this rank that the peer has not received are
  /// discarded there. Then the result is done: a receive that the peer posts afterwards matches a later
  /// message only. Messages of the peer that this rank has not received stay until the peer disconnects,
  /// too. Meanwhile the peer must wait for any operation. Sends that are discarded end; their outcome is not
  /// specified.
  virtual Pending disconnect(Rank peer) = 0;
  /// Disconnects from all of these ranks but this one. A context may leave out ranks with which it knows
  /// that nothing is open.
  virtual std::vector<Pending> disconnect_all(std::span<const Rank> peers) {
    std::vector<Pending> disconnecting;
    for (const Rank peer : peers)
      if (peer != rank()) disconnecting.push_back(disconnect(peer));
    return disconnecting;
  }
  /// Number of messages to this rank that their senders cancelled or discarded before it received them:
  /// messages of ranks that are gone, or were believed to be. For records only.
  virtual std::int64_t discarded_messages() const { return 0; }
  /// Announces that this rank leaves permanently. Messages that it has sent can still be received. Its
  /// receives that have not matched a message are cancelled. On other ranks, receives that match no message
  /// of this rank, and sends that match no receive of it, end with `peer_left`, whether they are started
  /// before or after the announcement. Pre: called once; this rank sends and receives nothing afterwards.
  virtual void announce_departure() = 0;

  void wait_all(std::span<Pending> pendings) {
    for (auto& pending : pendings)
      if (!pending.empty()) wait(pending);
  }

  /// Blocks until real transfers and sums use no memory of the rank any more. For a rank that ends by an
  /// error; other ranks wait for each operation.
  virtual void end_transfers() noexcept {}
};

/// Ends the transfers of a rank before the memory that they use is destroyed, also after an error that does
/// not come from a wait. To be declared after that memory.
class TransferGuard {
 public:
  explicit TransferGuard(Context& context) : context_(context) {}
  ~TransferGuard() { context_.end_transfers(); }
  TransferGuard(const TransferGuard&) = delete;
  TransferGuard& operator=(const TransferGuard&) = delete;

 private:
  Context& context_;
};

}  // namespace tandem

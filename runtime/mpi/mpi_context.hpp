// The context of a rank in the real world: messages through MPI, kernels run for real, emulated devices and
// disks as deadlines. May not know SimGrid, though SimGrid's own MPI can carry it (sim/witness/), nor CUDA.
// There is no progress thread: a waiting rank drives its own messages.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/gpu/device_clock.hpp"
#include "runtime/gpu/device_collective.hpp"
#include "runtime/gpu/device_copies.hpp"
#include "runtime/mpi/host_time.hpp"
#include "runtime/mpi/node_memory.hpp"
#include "workloads/context.hpp"

namespace tandem {

/// What is emulated, and where native work is done. A null function, or one that answers nullopt, means
/// native speed.
struct MpiSetting {
  /// Time that the emulated device of this rank needs.
  std::function<std::optional<Seconds>(const Work&)> emulated = {};
  /// Time that the emulated disk needs for a read, or a write.
  std::function<std::optional<Seconds>(int disk, Bytes size, bool write)> emulated_disk = {};
  /// Where kernels compute, which must outlive the context; null: the host.
  ComputeDevice* device = nullptr;
  /// MPI reads and writes messages in the device's memory itself. Sums go through the host all the same.
  bool direct_messages = false;
  /// Takes the sums of device memory that it can; null: none.
  std::shared_ptr<DeviceCollective> collective = {};
  /// Carries large messages of host memory between the ranks that it reaches; null, for all ranks: none. Of
  /// the communicator that the context is made on.
  std::shared_ptr<NodeMemory> node_memory = {};
  /// Of lists of members of all-reduces; Open MPI has 65,535 at a time, each with buffers of its own.
  std::size_t most_communicators = 1000;
};

/// Errors: WorldError with MPI's text from every operation. Not thread-safe; used by the thread that made it.
/// A kernel runs where its operation is started, and emulated work is done at the later of the two: the
/// kernel's end, and the emulated time after its start. Work on one emulated device, beside it, or on a disk
/// is done one after the other; what a kernel takes too long, work that follows without a pause makes up for.
///
/// On a device that is not the host a kernel queues its work, which is done when the device is; sums and
/// compressions of a bucket, and work beside, do not wait for what else the device has to do. Messages of
/// that device's memory go through pinned memory of the host: they are copied out, or in, beside what the
/// device computes, and may be met by messages of host memory. Small ones on channels with notes always do.
class MpiContext : public Context {
 public:
  /// Collective over `communicator`, which is duplicated; the clock starts at its end. Pre: MPI is
  /// initialised.
  MpiContext(MPI_Comm communicator, MpiSetting setting);
  ~MpiContext() override;
  MpiContext(const MpiContext&) = delete;
  MpiContext& operator=(const MpiContext&) = delete;

  Rank rank() const override { return rank_; }
  int world_size() const override { return size_; }
  ComputeDevice& device() override { return device_; }
  Seconds now() const override;
  Pending compute(const Work& work, Kernel kernel) override;
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  /// By MPI_Iallreduce, or the device's own way. The first one over a list of members waits until all of them
  /// have started it: they make a communicator, which is kept to the end. Where one of them keeps as many as
  /// it may, the communicator is that of the one sum, and every sum over the list waits so.
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector) override;
  Pending read(int disk, Bytes size, Kernel transfer) override;
  Pending write(int disk, Bytes size, Kernel transfer) override;
  Pending sleep(Seconds duration) override;
  bool is_done(const Pending& pending) override;
  Completion wait(Pending& pending) override;
  Completion wait_any(std::span<Pending> pendings) override;

  /// Waits for all ranks to call it, without burning a core. Collective.
  void meet();
  /// A message, or a sum, of the device's memory on its way to the host's memory or from there.
  struct DeviceCopy {
    bool out;
    std::int64_t bytes;
    Seconds start;
    Seconds end;
  };
  /// Who is told of every copy, once the rank has learned of its end; an empty one: nobody any more. How long
  /// a copy took is the device's own time, and when it was an estimate by it.
  void watch_copies(std::function<void(const DeviceCopy&)> watcher);
  /// Times an emulated device or disk paused later than it should have, because kernels took longer than
  /// their emulated times: the emulation was not honest then.
  std::int64_t late_devices() const;

 private:
  static constexpr std::int64_t unknown_size = -1;

  /// Receives with an envelope of one (sender, channel), in the order of their posting; their payloads keep
  /// that order.
  struct Stream {
    std::vector<std::uint32_t> unresolved;  ///< few; a deque would allocate again and again
  };
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
  struct Slot {
    enum class State : std::uint8_t { free, messages, timed, queued, summed, done } state = State::free;
    bool has_envelope = false;  ///< of a receive with one: its first message has arrived
    int open_messages = 0;      ///< not yet complete
    Seconds deadline;           ///< of a timed operation
    Note note;
    Stream* stream = nullptr;  ///< of a receive with an envelope whose payload is not on its way
    Rank peer = 0;
    int payload_tag = 0;
    Slice slice;
    std::unique_ptr<std::byte[]> staging;  ///< made on first use, kept for the slot's next operations
    std::byte* head = nullptr;             ///< of a receive with an envelope: where that arrives
    std::vector<std::byte> summand;      ///< of an all-reduce: this rank's vector, whose place takes the sum
    PinnedPool::Block block;             ///< of what goes through pinned memory
    std::byte* landing = nullptr;        ///< what comes, in that memory; it is copied on when all has arrived
    std::int64_t landed = unknown_size;  ///< its bytes
    QueuedWork work;
    std::uint32_t sum = 0;                      ///< of an all-reduce by the devices: its number there
    MPI_Comm own_communicator = MPI_COMM_NULL;  ///< of an all-reduce over members whose is not kept
  };
  /// A send as one message or two, of which the second has the next tag.
  struct Parts {
    const std::byte* first;
    std::int64_t first_size;
    const std::byte* second = nullptr;
    std::int64_t second_size = 0;
  };

  std::uint32_t acquire(Slot::State state);
  void watch(std::uint32_t slot, MPI_Request request);
  static void end(Slot& slot);
  std::byte* staging_of(Slot& slot);
  bool has_envelope(Channel channel, Rank peer) const;
  bool is_neighbour(Rank peer) const;
  std::int64_t packed_most(Rank peer) const;
  bool is_staged(const Slice& slice, bool by_host) const;
  std::int64_t place_on_node(Rank to, const Slice& payload);
  void start(std::uint32_t number, Rank to, int tag, const Parts& parts);
  std::byte* arrival_place(Slot& slot, std::int64_t size, bool by_host);
  void land(Slot& slot, const std::byte* pinned, std::int64_t size);
  /// An emulated device or disk.
  struct Unit {
    Seconds free_at;
    Seconds behind;  ///< how much later that is than it should be, since it last paused
  };
  static bool is_late(const Unit& unit);
  Pending occupy(Unit& unit, std::optional<Seconds> duration, const Kernel& kernel);
  Pending use_disk(int disk, Bytes size, const Kernel& transfer, bool write);
  Pending queue(const Work& work, const Kernel& kernel);
  static Seconds device_time(const QueuedWork& work);
  bool advance();
  bool test_messages();
  DeviceCopy timed(DeviceCopies::Ended copy);
  void message_ended(std::uint32_t number);
  void resolve(std::uint32_t number);
  bool is_done(const Slot& slot) const;
  Completion finish(Pending& pending, std::size_t index);
  void pause_until(std::optional<Seconds> deadline, bool device_is_asked);
  std::byte* scratch(Bytes size);
  struct Members {
    MPI_Comm communicator = MPI_COMM_NULL;
    bool is_kept = true;
  };
  Members make_communicator(std::span<const Rank> members);
  Members communicator_of(std::span<const Rank> members);
  std::vector<std::byte> summand_of(Slice vector);
  void let_leave();
  void meet(std::span<const Rank> members);
  void start_sum(std::uint32_t number, MPI_Comm among, const std::byte* summand, std::byte* sum,
                 std::int64_t size);

  MPI_Comm communicator_ = MPI_COMM_NULL;
  MpiSetting setting_;
  ComputeDevice& device_;
  Rank rank_ = 0;
  int size_ = 0;
  std::unique_ptr<HostTime> time_;
  Seconds start_;

  PinnedPool pinned_;
  DeviceCopies copies_;
  DeviceClock device_clock_;
  std::array<Seconds, 2> copied_until_{};  ///< in and out
  SharedStretch last_said_;                ///< of the kernel that said its end last
  std::deque<Slot> slots_;                 ///< a deque keeps their addresses
  std::vector<std::uint32_t> free_;
  std::vector<MPI_Request> requests_;  ///< in flight, in the order of their posting
  std::vector<std::uint32_t> owners_;  ///< slot of each request
  std::vector<int> ended_;             ///< room for MPI_Testsome
  std::vector<MPI_Status> statuses_;
  std::vector<std::uint32_t> ended_owners_;
  std::unordered_map<std::uint64_t, Stream> streams_;
  std::vector<std::vector<std::byte>> scratch_;  ///< the last one is the largest; older ones may be in flight
  std::map<std::vector<Rank>, MPI_Comm> communicators_;  ///< of the members of all-reduces
  std::vector<std::vector<std::byte>> summands_;         ///< not in use

  Unit emulated_device_;
  Unit concurrent_device_;
  std::unordered_map<int, Unit> disks_;
  std::int64_t late_devices_ = 0;
};

}  // namespace tandem

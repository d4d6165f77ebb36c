// The context of a rank in the real world: messages through MPI, kernels run for real, emulated devices and
// disks as deadlines. May not know SimGrid, though SimGrid's own MPI can carry it (sim/witness/), nor CUDA.
// There is no progress thread: a waiting rank drives its own messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/gpu/device_collective.hpp"
#include "runtime/mpi/communicators.hpp"
#include "runtime/mpi/device_staging.hpp"
#include "runtime/mpi/emulated_units.hpp"
#include "runtime/mpi/host_time.hpp"
#include "runtime/mpi/node_memory_path.hpp"
#include "runtime/mpi/slots.hpp"
#include "runtime/mpi/transport.hpp"
#include "workloads/context.hpp"

namespace tandem {

/// What is emulated, and where other work is done. A null function, or one that answers nullopt: the work
/// takes the time that it takes here.
struct MpiSetting {
  /// Time that the emulated device of this rank needs.
  std::function<std::optional<Seconds>(const Work&)> emulated = {};
  /// Time that the emulated disk needs for a read, or a write.
  std::function<std::optional<Seconds>(int disk, const DiskAccess& access, bool write)> emulated_disk = {};
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
  /// Whether messages can be withdrawn and ranks can leave; not under SMPI, where looking for such news would
  /// change simulated times.
  bool can_withdraw = true;
};

/// Errors: WorldError with MPI's text from every operation. Not thread-safe; used by the thread that made it.
/// A kernel runs where its operation is started, and emulated work is done at the later of the two: the
/// kernel's end, and the emulated time after its start. Work on one emulated device, concurrent work, or work
/// on a disk is done one after the other; what a kernel takes too long, work that follows without a pause
/// makes up for.
///
/// On a device that is not the host a kernel queues its work, which is done when the device is; sums and
/// compressions of a bucket, and concurrent work, do not wait for the device's other work. Messages of that
/// device's memory pass through pinned memory of the host: they are copied out, or in, concurrently with what
/// the device computes, and may be met by messages of host memory. Small ones on channels with notes always
/// do.
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
  Pending read(int disk, DiskAccess access, Kernel transfer) override;
  Pending write(int disk, DiskAccess access, Kernel transfer) override;
  Pending sleep(Seconds duration) override;
  bool is_done(const Pending& pending) override;
  Completion wait(Pending& pending) override;
  Completion wait_any(std::span<Pending> pendings) override;
  /// See Transport for what a withdrawn send waits for. Errors: WorldError where messages cannot be
  /// withdrawn.
  void cancel(const Pending& pending) override;
  /// The rank must then call `meet`, as all others do in the end: it throws away what others had sent, as
  /// they ask for it. Errors: WorldError where ranks cannot leave.
  void announce_departure() override;

  /// Waits for all ranks to call it, without burning a core. Collective.
  void meet();
  using DeviceCopy = DeviceStaging::Copy;
  /// `watcher` hears of every copy of a message or sum between the memory of the device and the host's, once
  /// the rank has learned of its end; an empty one ends that.
  void watch_copies(std::function<void(const DeviceCopy&)> watcher);
  /// Times an emulated device or disk paused later than it should have, because kernels took longer than
  /// their emulated times: the emulation was not honest then.
  std::int64_t late_devices() const { return units_.missed_deadlines(); }

 private:
  /// The communicator of the context alone.
  class OwnCommunicator {
   public:
    explicit OwnCommunicator(MPI_Comm of);
    ~OwnCommunicator();
    OwnCommunicator(const OwnCommunicator&) = delete;
    OwnCommunicator& operator=(const OwnCommunicator&) = delete;
    MPI_Comm get() const { return communicator_; }

   private:
    MPI_Comm communicator_ = MPI_COMM_NULL;
  };

  Pending occupy(EmulatedUnit& unit, std::optional<Seconds> duration, const Kernel& kernel);
  Pending use_disk(int disk, const DiskAccess& access, const Kernel& transfer, bool write);
  Pending queue(const Work& work, const Kernel& kernel);
  static Seconds device_time(const QueuedWork& work);
  bool advance();
  bool is_done(const Slot& slot) const;
  bool hear_control_now_and_then();
  Completion finish(Pending& pending, std::size_t index);
  void pause_until(std::optional<Seconds> deadline, bool device_is_asked);
  std::vector<std::byte> summand_of(Slice vector);
  void let_leave();
  void meet(std::span<const Rank> members);
  void start_sum(std::uint32_t number, MPI_Comm among, const std::byte* summand, std::byte* sum,
                 std::int64_t size);

  OwnCommunicator all_;
  MpiSetting setting_;
  ComputeDevice& device_;
  std::unique_ptr<HostTime> time_;
  DeviceStaging staging_;  ///< before what holds its blocks
  NodeMemoryPath node_;
  SlotTable slots_;
  Transport transport_;
  Communicators communicators_;
  EmulatedUnits units_;
  Rank rank_ = 0;
  int size_ = 0;
  Seconds start_;
  SharedStretch last_said_;                       ///< of the kernel that said its end last
  std::vector<std::vector<std::byte>> summands_;  ///< not in use
  unsigned idle_looks_ = 0;
};

}  // namespace tandem

// The context of a rank in the real world: messages through MPI, kernels run for real, emulated devices and
// disks as deadlines. Includes neither SimGrid nor CUDA, although it also runs on SimGrid's MPI
// (sim/witness/). There is no progress thread: a rank progresses its messages while it waits.
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
#include "runtime/mpi/element_sums.hpp"
#include "runtime/mpi/emulated_units.hpp"
#include "runtime/mpi/host_time.hpp"
#include "runtime/mpi/node_memory_path.hpp"
#include "runtime/mpi/operations.hpp"
#include "runtime/mpi/transfers.hpp"
#include "runtime/mpi/transport.hpp"
#include "workloads/context.hpp"

namespace tandem {

/// What is emulated, and where other work is done. A null function, or a result of nullopt, means native
/// speed.
struct MpiSetting {
  /// Time that the emulated device of this rank needs.
  std::function<std::optional<Seconds>(const Work&)> emulated = {};
  /// How many times as long the work in the first queue of the emulated device takes while messages or sums
  /// of the rank are in flight.
  double overlap_slowdown = 1.0;
  /// The emulated device has a second queue (is_of_finished_bucket).
  bool emulates_second_queue = false;
  /// The time at which the emulated disk ends an access that arrives there at `arrival`, both by the clock
  /// of the host.
  std::function<Seconds(int disk, const DiskAccess& access, bool write, Seconds arrival)> emulated_disk = {};
  /// How many transfers of a disk run at the same time, at least 1; null: one.
  std::function<int(int disk)> parallel_transfers = {};
  /// Transfers run on threads of their own. Otherwise they run in the call that starts them, as under SMPI,
  /// whose clock would not wait for them.
  bool transfers_overlap = true;
  /// The kernel makes reads of files past the page cache (io_uring) if it permits that; otherwise threads
  /// do.
  bool by_read_ring = true;
  /// Where kernels compute, which must outlive the context; null: the host.
  ComputeDevice* device = nullptr;
  /// MPI reads and writes messages in device memory directly. Sums go through the host in any case.
  bool direct_messages = false;
  /// Computes sums in device memory where it can; null: none.
  std::shared_ptr<DeviceCollective> collective = {};
  /// Shared memory of the node for large messages of host memory between its ranks; created on the context's
  /// communicator. Null (on all ranks): none.
  std::shared_ptr<NodeMemory> node_memory = {};
  /// Which of these messages use that memory; the same on all ranks of a machine.
  NodeRoutes node_routes = NodeRoutes();
  /// Large messages between memory of GPUs of one machine; created on the context's communicator, with
  /// `device`. Null (on all ranks): none.
  std::shared_ptr<PeerMessages> peer_messages = {};
  /// Largest number of communicators to keep for lists of members of all-reduces; Open MPI supports 65,535 at
  /// a time, each with its own buffers.
  std::size_t most_communicators = 1000;
  /// Whether messages can be cancelled and ranks can leave; not under SMPI, where polling for this would
  /// change simulated times.
  bool can_cancel = true;
  /// How long ranks poll before they yield and sleep, if ranks of other jobs share their cores; none: what
  /// suits the ranks of this communicator alone.
  std::optional<Patience> patience = {};
};

/// Errors: WorldError with MPI's text from every operation. Not thread-safe; used by the thread that made it.
/// The kernel of work runs in the call that starts it. Emulated work is done when both its kernel has ended
/// and its emulated time has passed since its start. The work in each queue of an emulated device and its
/// concurrent work are each done one after the other; if a kernel takes too long, work that follows without a
/// pause is shortened to make up for it.
///
/// The transfer of an access to a disk runs on a thread or, if it only reads files, in the kernel
/// (Transfers), and the access has ended when both the transfer and the emulated disk have. What a transfer
/// uses must live until it was waited for, or until a wait has thrown: before an error leaves a wait, all
/// transfers have ended. After other errors, end_transfers waits for them.
///
/// On a device that is not the host, a kernel queues its work, which is done when the device has finished it.
/// Sums and compressions of a bucket, and concurrent work, do not wait for the device's other work. Messages
/// in that device's memory pass through pinned host memory: they are copied out or in while the device
/// computes, and the other rank may use host memory. Small messages on channels with notes always pass
/// through pinned memory; large ones between GPUs of a machine need not (peer_messages).
class MpiContext : public Context {
 public:
  /// Collective over `communicator`, which is duplicated; the clock starts at its end. Pre: MPI is
  /// initialised.
  MpiContext(MPI_Comm communicator, MpiSetting setting);
  ~MpiContext() override;
  MpiContext(const MpiContext&) = delete;
  MpiContext& operator=(const MpiContext&) = delete;

  Rank rank() const override { return transport_.rank(); }
  int world_size() const override { return transport_.size(); }
  ComputeDevice& device() override { return device_; }
  Seconds now() const override;
  Pending compute(const Work& work, Kernel kernel) override;
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  /// By MPI_Iallreduce, or by the device collective. The first all-reduce over a list of members waits until
  /// all members have started it, because they create a communicator, which is kept. If one member already
  /// keeps the maximum number, the communicator serves this one sum only, and every sum over the list waits
  /// like that.
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override;
  Pending read(int disk, DiskAccess access, Kernel transfer) override;
  Pending write(int disk, DiskAccess access, Kernel transfer) override;
  Pending sleep(Seconds duration) override;
  bool is_done(const Pending& pending) override;
  Completion wait(Pending& pending) override;
  Completion wait_any(std::span<Pending> pendings) override;
  /// Transport explains how long the wait for a cancelled send takes. Errors: WorldError where messages
  /// cannot be cancelled.
  void cancel_all(std::span<const Pending> pendings) override;
  void stop_work() override;
  std::int64_t discarded_messages() const override { return transport_.discarded(); }
  /// Errors: WorldError where messages cannot be cancelled.
  Pending disconnect(Rank peer) override;
  /// The rank must then call `meet`, as all other ranks do at the end; there it discards messages of other
  /// ranks when they request it. Errors: WorldError where ranks cannot leave.
  void announce_departure() override;
  /// After an error, also ends the sums of the device collective.
  void end_transfers() noexcept override;

  /// Waits until all ranks have called it, without occupying a CPU core. Collective.
  void meet();
  using DeviceCopy = DeviceStaging::Copy;
  /// `watcher` is called for every copy of a message or sum between device and host memory, after the rank
  /// has noticed its end; an empty function stops this.
  void watch_copies(std::function<void(const DeviceCopy&)> watcher);
  /// How often an emulated device became idle, or an access to an emulated disk ended, later than it should
  /// have, because kernels took longer than their emulated times (missed deadlines).
  std::int64_t late_devices() const { return units_.missed_deadlines(); }

 private:
  EmulatedUnit& unit_of(const Work& work);
  Pending occupy(EmulatedUnit& unit, std::optional<Seconds> duration, const Kernel& kernel, bool is_work);
  Pending use_disk(int disk, const DiskAccess& access, Kernel transfer, bool write);
  Completion wait_for_any(std::span<Pending> pendings);
  Pending queue(const Work& work, const Kernel& kernel);
  static Seconds device_time(const QueuedWork& work);
  bool advance();
  void note_flight();
  std::optional<Seconds> time_of_end(Operation& operation, Seconds now) const;
  bool take_control_now_and_then();
  Completion finish(Pending& pending, std::size_t index);
  struct Awaited;
  void pause_until(const Awaited& awaited);
  void send_staged_messages();
  void meet(std::span<const Rank> members);
  void start_sum(std::uint32_t number, MPI_Comm among, std::span<std::byte> vector,
                 const collectives::Element& element);

  OwnCommunicator all_;
  MpiSetting setting_;
  ComputeDevice& device_;
  std::unique_ptr<HostTime> time_;
  DeviceStaging staging_;  ///< before the members that hold its blocks
  NodeMemoryPath node_;
  OperationTable operations_;
  Transport transport_;
  Communicators communicators_;
  ElementSums sums_;
  EmulatedUnits units_;
  std::unique_ptr<Transfers> transfers_;
  Seconds start_;
  SharedStretch last_said_;  ///< of the kernel that last reported its end
  Seconds next_control_{0};  ///< when to look for control messages again
};

}  // namespace tandem

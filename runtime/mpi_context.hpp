// The context of a rank in the real world: messages through MPI, kernels run for real, emulated devices and
// disks as deadlines. May not know SimGrid, though SimGrid's own MPI can carry it (sim/witness/). There is no
// progress thread: a waiting rank drives its own messages.
#pragma once

#include <mpi.h>

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

#include "runtime/host_time.hpp"
#include "workloads/context.hpp"

namespace tandem {

/// What is emulated. A null function, or one that answers nullopt, means native speed.
struct MpiSetting {
  /// Time that the emulated device of this rank needs.
  std::function<std::optional<Seconds>(const Work&)> emulated = {};
  /// Time that the emulated disk needs for a read, or a write.
  std::function<std::optional<Seconds>(int disk, Bytes size, bool write)> emulated_disk = {};
};

/// Errors: WorldError with MPI's text from every operation. Not thread-safe; used by the thread that made it.
/// A kernel runs where its operation is started, and emulated work is done at the later of the two: the
/// kernel's end, and the emulated time after its start. Work on one emulated device, or disk, is done one
/// after the other; what a kernel takes too long, work that follows without a pause makes up for.
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
  Seconds now() const override;
  Pending compute(const Work& work, Kernel kernel) override;
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  /// By MPI_Iallreduce. The first one over a list of members waits until all of them have started it: they
  /// make a communicator, which is kept to the end.
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector) override;
  Pending read(int disk, Bytes size, Kernel transfer) override;
  Pending write(int disk, Bytes size, Kernel transfer) override;
  Pending sleep(Seconds duration) override;
  Completion wait(Pending& pending) override;
  Completion wait_any(std::span<Pending> pendings) override;

  /// Waits for all ranks to call it, without burning a core. Collective.
  void meet();
  /// Times an emulated device or disk paused later than it should have, because kernels took longer than
  /// their emulated times: the emulation was not honest then.
  std::int64_t late_devices() const;

 private:
  /// Receives with a note of one (sender, channel), in the order of their posting; their payloads keep that
  /// order.
  struct Stream {
    std::vector<std::uint32_t> unresolved;  ///< few; a deque would allocate again and again
  };
  struct Slot {
    enum class State : std::uint8_t { free, messages, timed, done } state = State::free;
    bool has_envelope = false;  ///< of a receive with a note: its first message has arrived
    int open_messages = 0;      ///< not yet complete
    Seconds deadline;           ///< of a timed operation
    Note note;
    Stream* stream = nullptr;  ///< of a receive with a note whose payload is not yet on its way
    Rank peer = 0;
    int payload_tag = 0;
    Slice slice;
    std::unique_ptr<std::byte[]> staging;  ///< made on first use, kept for the slot's next operations
    std::vector<std::byte> summand;  ///< of an all-reduce: this rank's vector, whose place takes the sum
  };

  std::uint32_t acquire(Slot::State state);
  void watch(std::uint32_t slot, MPI_Request request);
  std::byte* staging_of(Slot& slot);
  void send_with_note(std::uint32_t number, Rank to, int tag, Slice slice, const Note& note);
  /// An emulated device or disk.
  struct Unit {
    Seconds free_at;
    Seconds behind;  ///< how much later that is than it should be, since it last paused
  };
  static bool is_late(const Unit& unit);
  Pending occupy(Unit& unit, std::optional<Seconds> duration, const Kernel& kernel);
  Pending use_disk(int disk, Bytes size, const Kernel& transfer, bool write);
  bool advance();
  void message_ended(std::uint32_t number);
  void resolve(std::uint32_t number);
  bool is_done(const Slot& slot) const;
  Completion finish(Pending& pending, std::size_t index);
  void pause_until(std::optional<Seconds> deadline);
  std::byte* scratch(Bytes size);
  MPI_Comm communicator_of(std::span<const Rank> members);
  std::vector<std::byte> summand_of(Slice vector);

  MPI_Comm communicator_ = MPI_COMM_NULL;
  MpiSetting setting_;
  Rank rank_ = 0;
  int size_ = 0;
  std::unique_ptr<HostTime> time_;
  Seconds start_;

  std::deque<Slot> slots_;  ///< a deque keeps their addresses
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

  Unit device_;
  std::unordered_map<int, Unit> disks_;
  std::int64_t late_devices_ = 0;
};

}  // namespace tandem

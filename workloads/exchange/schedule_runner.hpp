// Runs all-reduces on any context by interpreting their schedules, or by the library's all-reduce, several
// at the same time and concurrent with other work. Knows no algorithm: the schedule has each message and its
// receiver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/collectives/element.hpp"
#include "policies/collectives/schedule.hpp"
#include "workloads/context.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// Memory for received data that is to be added. All-reduces of several groups of ranks may share it if they
/// do not run at the same time. It then has the size of the largest need, instead of being allocated for
/// each.
class ArrivalMemory {
 public:
  /// At least this many bytes in the memory of a device, for the bucket of this index; valid until more are
  /// requested for it.
  std::byte* of(std::size_t bucket, ComputeDevice& device, std::size_t bytes);

 private:
  struct Block {
    ComputeDevice* device = nullptr;
    DeviceArray<std::byte> memory;
  };
  std::vector<Block> blocks_;  ///< by bucket
};

/// The all-reduces (sums, of float32 by default) of one group of ranks. Each bucket has an all-reduce on its
/// own channel; any number of them may be in progress. The schedule fixes the order in which an element is
/// summed, but the library's all-reduce chooses its order itself. After the first use of each bucket nothing
/// is allocated.
class AllReduces {
 public:
  /// `members[index]` is the rank of participant `index`; this rank is one of them, and all give the same
  /// list. Bucket b uses the channel of the stream of `first` with bucket `first.bucket + b`, which nothing
  /// else may use. Pre: each bucket size is a multiple of 4 bytes. The context and the memory of `members`
  /// outlive this object.
  AllReduces(Context& context, const collectives::MakeSchedule& make, std::span<const Rank> members,
             std::span<const Bytes> bucket_sizes, Channel first);
  /// The same with this rank's schedule for each bucket; peers are indices of `members`. Without a schedule:
  /// the library's all-reduce (Context::all_reduce); all members then start such buckets in the same order.
  /// `elements`: the element type of each bucket and how it is added, instead of floats; a bucket's size is a
  /// multiple of it. `arrivals`: null: memory of its own.
  using Schedules = std::vector<std::optional<collectives::Schedule>>;
  AllReduces(Context& context, Schedules schedules, std::span<const Rank> members,
             std::span<const Bytes> bucket_sizes, Channel first,
             std::span<const collectives::Element> elements = {},
             std::shared_ptr<ArrivalMemory> arrivals = nullptr);
  AllReduces(const AllReduces&) = delete;
  AllReduces& operator=(const AllReduces&) = delete;

  /// Starts the bucket's all-reduce, in place. `vector` has the bucket's size; its data may be null when math
  /// is modelled, and belong to the all-reduce until it is done. Pre: the bucket is not in progress. Every
  /// member starts the same buckets.
  void start(int bucket, Slice vector);

  /// Blocks until `until` is done; all-reduces progress meanwhile.
  /// Pre: `until` is not empty. It is empty afterwards.
  Completion wait_progressing(Pending& until) { return wait_progressing({&until, 1}); }
  /// The same until one of several is done, as Context::wait_any. The index is among them.
  Completion wait_progressing(std::span<Pending> any_of) { return *advance(any_of, false); }
  /// The same, or until all all-reduces are done: none.
  std::optional<Completion> finish_or_wait(std::span<Pending> any_of) { return advance(any_of, true); }

  /// Blocks until the bucket's all-reduce is done, if it is in progress; the others progress meanwhile.
  void finish(int bucket);
  /// Blocks until all are done.
  void finish();
  /// Gives up all all-reduces in progress. Their vectors then have no specified content. Pre: their messages
  /// end without the other members, as after Context::disconnect from each of them.
  void abandon();

  bool running() const { return running_ > 0; }
  bool in_flight(int bucket) const { return runs_[static_cast<std::size_t>(bucket)].in_flight; }

  /// The bytes that one all-reduce of a bucket moves. For the library's all-reduce only this rank's
  /// input and its output count, if there are several members.
  struct Traffic {
    Bytes sent{0};
    Bytes received{0};
  };
  const Traffic& traffic(int bucket) const { return runs_[static_cast<std::size_t>(bucket)].traffic; }

 private:
  /// One bucket's all-reduce.
  struct Run {
    collectives::Schedule schedule;
    bool by_library = true;  ///< the library's; it has no schedule, and one operation
    Channel channel;
    std::size_t first = 0;  ///< in `pendings_`: transfer t of a round is at first + t
    Slice vector;
    std::size_t round = 0;
    collectives::Round current;  ///< the transfers of this round
    std::size_t unfinished = 0;  ///< transfers of this round, with their reductions
    bool in_flight = false;
    collectives::Element element{};
    Traffic traffic;
    ComputeDevice* device = nullptr;
    std::byte* arrivals = nullptr;        ///< received data to be reduced, when math is real
    std::size_t arrivals_needed = 0;      ///< bytes, the most of any round
    std::vector<std::size_t> arrival_of;  ///< where in `arrivals` transfer t of this round lands
  };
  struct Operation {
    std::size_t bucket = 0;
    std::size_t transfer = 0;
    bool reducing = false;
  };

  Rank rank_of(int participant) const { return members_[static_cast<std::size_t>(participant)]; }
  void prepare(Run& run, std::size_t bucket);
  void end(Run& run);
  void start_round(Run& run);
  void post_receive(Run& run, std::size_t transfer);
  void post_send(Run& run, std::size_t transfer);
  void reduce(Run& run, std::size_t transfer);
  void on_done(std::size_t number);
  std::optional<Completion> advance(std::span<Pending> any_of, bool until_all_are_done);
  void progress();

  Context& context_;
  std::span<const Rank> members_;
  std::shared_ptr<ArrivalMemory> arrivals_;
  std::vector<Run> runs_;
  int running_ = 0;
  /// The transfers of each bucket, identified by `operations_`; and last the operations that wait_progressing
  /// waits for: transfers that are done come first.
  std::vector<Pending> pendings_;
  std::vector<Operation> operations_;
};

}  // namespace tandem

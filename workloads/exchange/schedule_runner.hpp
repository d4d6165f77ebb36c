// Runs all-reduces on any context by interpreting their schedules, or by the world's own all-reduce, several
// at a time and while other work goes on. Knows no algorithm: what is sent to whom is in the schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/collectives/element.hpp"
#include "policies/collectives/schedule.hpp"
#include "workloads/context.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// The all-reduces (sums, of float32 if nothing else is said) of one group of ranks: one a bucket, each on
/// its own channel, any number of them under way at once. The sum of an element is always taken in the order
/// that the schedule fixes; only the world's own all-reduce takes it as it likes. After the first use of each
/// bucket nothing is allocated.
class AllReduces {
 public:
  /// `members[index]` is the rank of participant `index`; this rank is one of them, and all give the same
  /// list. Bucket b uses the channel of the stream of `first` whose bucket is
  /// `first.bucket + b`, for messages of this object alone. Pre:
  /// each bucket size is a multiple of 4 bytes. The context outlives this object.
  AllReduces(Context& context, const collectives::MakeSchedule& make, std::span<const Rank> members,
             std::span<const Bytes> bucket_sizes, Channel first);
  /// The same with this rank's schedule for each bucket; peers are indices of `members`. Without a schedule:
  /// the world's own all-reduce (Context::all_reduce), of floats; all members then start such buckets in the
  /// same order. `elements`: what the pieces of each are counted in and how it is added, instead of floats; a
  /// bucket's size is a multiple of it.
  using Schedules = std::vector<std::optional<collectives::Schedule>>;
  AllReduces(Context& context, Schedules schedules, std::span<const Rank> members,
             std::span<const Bytes> bucket_sizes, Channel first,
             std::span<const collectives::Element> elements = {});
  AllReduces(const AllReduces&) = delete;
  AllReduces& operator=(const AllReduces&) = delete;

  /// Starts the bucket's all-reduce, in place. `vector` has the bucket's size; its data may be null when math
  /// is modelled, and belong to the all-reduce until it is done. Pre: the bucket is not under way. Every
  /// member starts the same buckets.
  void start(int bucket, Slice vector);

  /// Blocks until `until` is done, and keeps every all-reduce going meanwhile.
  /// Pre: `until` is not empty. It is empty afterwards.
  Completion wait_progressing(Pending& until);

  /// Blocks until the bucket's all-reduce is done, if it is under way, and keeps the others going.
  void finish(int bucket);
  /// Blocks until all are done.
  void finish();

  bool running() const { return running_ > 0; }
  bool under_way(int bucket) const { return runs_[static_cast<std::size_t>(bucket)].under_way; }

  /// What one all-reduce of a bucket moves. Of the world's own all-reduce only the vector is known that it is
  /// given and gives back, if there are several members.
  struct Traffic {
    Bytes sent{0};
    Bytes received{0};
  };
  const Traffic& traffic(int bucket) const { return runs_[static_cast<std::size_t>(bucket)].traffic; }

 private:
  /// One bucket's all-reduce.
  struct Run {
    collectives::Schedule schedule;
    bool is_own = true;  ///< one of the world's own; it has no schedule, and one slot
    Channel channel;
    std::size_t first_slot =
        0;  ///< its operations' place in `slots_`: transfer t of a round is at first_slot + t
    Slice vector;
    std::size_t round = 0;
    collectives::Round current;  ///< the transfers of this round
    std::size_t unfinished = 0;  ///< transfers of this round, with their reductions
    bool under_way = false;
    collectives::Element element{};
    Traffic traffic;
    ComputeDevice* device = nullptr;
    DeviceArray<std::byte> arrivals;      ///< what is received to be reduced, when math is real
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
  void on_done(std::size_t slot);
  void progress();

  Context& context_;
  std::vector<Rank> members_;
  std::vector<Run> runs_;
  int running_ = 0;
  /// The transfers of each bucket, of which `operations_` says whose each is; and last, since it may be done
  /// already while transfers still can go on, what `overlap` waits for.
  std::vector<Pending> slots_;
  std::vector<Operation> operations_;
};

}  // namespace tandem

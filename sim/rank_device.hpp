// The work of one simulated rank: one operation after the other on its device, slower while messages of the
// rank are in flight; sums in the second queue of a device that has one; and concurrent work.
#pragma once

#include <deque>
#include <optional>
#include <simgrid/kernel/resource/Action.hpp>

#include "sim/rank_operations.hpp"

namespace tandem::sim {

class World;

class RankDevice {
 public:
  /// The arguments must outlive it.
  RankDevice(World& world, RankContext& rank, RankOperations& operations);

  /// Work without duration has ended when this returns; other work is to be started.
  RankOperation& compute(const Work& work);
  /// Kernel context.
  void start(RankOperation& compute);
  /// The next operation starts if this one was computing. Kernel context.
  void finish(const RankOperation& operation, bool succeeded);
  /// The second queue has no more work.
  void clear_second_queue();
  /// False: the work was not computing and no longer waits for the device.
  bool stop(RankOperation& work);

  /// A message of this rank, or its part in an all-reduce of the library, starts, or ends; work is slower
  /// between the two. Kernel context.
  void message_set_out();
  void message_over();
  /// Time in which the first queue of the device computed while messages of the rank were in flight.
  Seconds overlap() const { return Seconds(overlap_s_); }

 private:
  RankOperation& timed_work(double duration_s);
  void start_next();
  simgrid::kernel::resource::Action* started_action(const RankOperation& operation) const;
  void stretch(double factor);
  /// The device has begun or ended to compute, or messages of the rank to move.
  void note_overlap();

  World& world_;
  RankContext& rank_;
  RankOperations& operations_;
  int cores_;
  bool has_second_queue_;
  double second_queue_free_s_ = 0;      ///< when the second queue of the device has done its work
  RankOperation* computing_ = nullptr;  ///< on the device, which does one operation after the other
  simgrid::kernel::resource::Action* action_ = nullptr;  ///< of `computing_`; null: it has ended
  std::deque<RankOperation*> waiting_;                   ///< for the device, in the order of their start
  int messages_in_flight_ = 0;  ///< from and to this rank; counted if World::counts_messages()
  double overlap_s_ = 0;
  std::optional<double> overlap_began_s_;
};

}  // namespace tandem::sim

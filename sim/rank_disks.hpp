// The disk accesses of one simulated rank.
#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "sim/rank_operations.hpp"
#include "sim/rank_waiting.hpp"

namespace tandem::sim {

class World;

class RankDisks {
 public:
  /// The arguments must outlive it. `waiting`: says whether the rank has been killed.
  RankDisks(World& world, RankContext& rank, RankOperations& operations, const RankWaiting& waiting);

  /// An access without duration has ended when this returns; others are to be started. Errors: ConfigError
  /// when the host has no such disk.
  RankOperation& access(RankOperation::Kind kind, int disk, const DiskAccess& access, Kernel transfer);
  /// Kernel context.
  void start(RankOperation& operation);
  /// An access that has ended. Kernel context.
  void finish(RankOperation& operation, bool succeeded);
  /// Runs the transfer of the access, if it has one that has not run.
  void end_transfer(RankOperation& operation, bool succeeded);

 private:
  void serve(RankOperation& operation, const DiskAccess& access);

  World& world_;
  RankContext& rank_;
  RankOperations& operations_;
  const RankWaiting& waiting_;
  std::vector<simgrid::s4u::Disk*> disks_;
  std::vector<simgrid::s4u::IoPtr> spare_ios_;
};

}  // namespace tandem::sim

// The slot of a worker whose machine may depart: it has one worker after the other. Each begins without the
// state of the one before.
#pragma once

#include <optional>

#include "workloads/checkpoint/record_files.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/cache_node_standing.hpp"
#include "workloads/membership/steward_line.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class WorkerSlot {
 public:
  /// The arguments must outlive it. `index`: among the workers.
  WorkerSlot(const Job& job, Context& context, Journal& journal, int index);
  /// Returns when the steward says that the job has ended.
  void run();

 private:
  void live(const protocol::Occupancy& occupancy);
  void record_gone(const protocol::Occupancy& occupancy);

  const Job& job_;
  Context& context_;
  Journal& journal_;
  int index_;
  StewardLine steward_;
  std::optional<CacheNodeStanding> node_;  ///< none: the node stays
  int ended_ = 0;                          ///< incarnation of the last worker, if that has ended by itself
  RecordFiles records_;
};

}  // namespace tandem

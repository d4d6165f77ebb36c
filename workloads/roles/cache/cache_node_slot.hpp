// The slot of a cache node whose machine may depart: it has one node after the other. Each begins with empty
// tiers, or with the samples that its disk has kept (data.keep).
#pragma once

#include "workloads/checkpoint/record_files.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/cache/machine_slot.hpp"

namespace tandem {

class CacheNodeSlot {
 public:
  /// The arguments must outlive it. `index`: among the cache nodes.
  CacheNodeSlot(const Job& job, Context& context, Journal& journal, int index);
  /// Returns when the steward says that the job has ended.
  void run();

 private:
  void live(Context& context, int incarnation);

  const Job& job_;
  Journal& journal_;
  int index_;
  MachineSlot slot_;
  RecordFiles records_;
};

}  // namespace tandem

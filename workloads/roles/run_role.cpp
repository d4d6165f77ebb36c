#include "workloads/roles/run_role.hpp"

#include "workloads/checkpoint/memory_copies.hpp"
#include "workloads/roles/cache_node.hpp"
#include "workloads/roles/directory.hpp"
#include "workloads/roles/evaluator.hpp"
#include "workloads/roles/keeper.hpp"
#include "workloads/roles/parameter_server.hpp"
#include "workloads/roles/steward.hpp"
#include "workloads/roles/store.hpp"
#include "workloads/roles/worker.hpp"
#include "workloads/roles/worker_slot.hpp"

namespace tandem {
namespace {

/// Transfers that an error leaves behind end before the role, whose memory they use.
template <class Role>
void run(Role role, Context& context) {
  const TransferGuard transfers(context);
  role.run();
}

}  // namespace

void run_role(const Job& job, Context& context, Journal& journal) {
  const RankAssignment& assignment = job.roster().assignment(context.rank());
  restore_copies(job, context);
  switch (assignment.role) {
    case RankAssignment::Role::worker:
      if (job.roster().steward()) return run(WorkerSlot(job, context, journal, assignment.index), context);
      return run(Worker(job, context, journal, assignment.index), context);
    case RankAssignment::Role::server:
    case RankAssignment::Role::coordinator:
      return run(ParameterServer(job, context, journal, assignment.index), context);
    case RankAssignment::Role::cache_node:
      return run(CacheNode(job, context, journal, assignment.index), context);
    case RankAssignment::Role::store:
      return run(Store(job, context, assignment.index), context);
    case RankAssignment::Role::directory:
      return run(DirectoryRole(job, context), context);
    case RankAssignment::Role::evaluator:
      return run(Evaluator(job, context, journal), context);
    case RankAssignment::Role::steward:
      return run(Steward(job, context, journal), context);
    case RankAssignment::Role::keeper:
      return run(Keeper(job, context), context);
  }
}

}  // namespace tandem

#include "workloads/roles/run_role.hpp"

#include "workloads/checkpoint/memory_copies.hpp"
#include "workloads/roles/cache_node.hpp"
#include "workloads/roles/evaluator.hpp"
#include "workloads/roles/keeper.hpp"
#include "workloads/roles/parameter_server.hpp"
#include "workloads/roles/steward.hpp"
#include "workloads/roles/store.hpp"
#include "workloads/roles/worker.hpp"
#include "workloads/roles/worker_slot.hpp"

namespace tandem {

void run_role(const Job& job, Context& context, Journal& journal) {
  const RankAssignment& assignment = job.roster().assignment(context.rank());
  restore_copies(job, context);
  switch (assignment.role) {
    case RankAssignment::Role::worker:
      if (job.roster().steward()) return WorkerSlot(job, context, journal, assignment.index).run();
      return Worker(job, context, journal, assignment.index).run();
    case RankAssignment::Role::server:
    case RankAssignment::Role::coordinator:
      return ParameterServer(job, context, journal, assignment.index).run();
    case RankAssignment::Role::cache_node:
      return CacheNode(job, context, journal, assignment.index).run();
    case RankAssignment::Role::store:
      return Store(job, context, assignment.index).run();
    case RankAssignment::Role::evaluator:
      return Evaluator(job, context, journal).run();
    case RankAssignment::Role::steward:
      return Steward(job, context, journal).run();
    case RankAssignment::Role::keeper:
      return Keeper(job, context).run();
  }
}

}  // namespace tandem

#include "workloads/roles/run_role.hpp"

#include "workloads/roles/cache_node.hpp"
#include "workloads/roles/evaluator.hpp"
#include "workloads/roles/parameter_server.hpp"
#include "workloads/roles/worker.hpp"

namespace tandem {

void run_role(const Job& job, Context& context, Journal& journal) {
  const RankAssignment& assignment = job.roster().assignment(context.rank());
  switch (assignment.role) {
    case RankAssignment::Role::worker:
      return Worker(job, context, journal, assignment.index).run();
    case RankAssignment::Role::server:
    case RankAssignment::Role::coordinator:
      return ParameterServer(job, context, journal, assignment.index).run();
    case RankAssignment::Role::cache_node:
      return CacheNode(job, context, journal, assignment.index).run();
    case RankAssignment::Role::evaluator:
      return Evaluator(job, context, journal).run();
  }
}

}  // namespace tandem

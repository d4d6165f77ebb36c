#include "workloads/roles/run_role.hpp"

#include <utility>
#include <vector>

#include "workloads/checkpoint/memory_copies.hpp"
#include "workloads/job/plan/departing_nodes.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/roles/cache/cache_node.hpp"
#include "workloads/roles/cache/cache_node_slot.hpp"
#include "workloads/roles/cache/directory.hpp"
#include "workloads/roles/cache/machine_slot.hpp"
#include "workloads/roles/cache/store.hpp"
#include "workloads/roles/evaluator.hpp"
#include "workloads/roles/keeper.hpp"
#include "workloads/roles/server/parameter_server.hpp"
#include "workloads/roles/steward/steward.hpp"
#include "workloads/roles/worker/worker.hpp"
#include "workloads/roles/worker/worker_slot.hpp"

namespace tandem {
namespace {

/// Transfers that an error leaves behind end before the role, whose memory they use.
template <class Role>
void run(Role role, Context& context) {
  const TransferGuard transfers(context);
  role.run();
}

void serve(std::span<const ServedJob> jobs, Context& context) {
  const RankAssignment& assignment = jobs.front().job->roster().assignment(context.rank());
  if (assignment.role == RankAssignment::Role::store)
    return run(Store(jobs, context, assignment.index), context);
  run(CacheNode(jobs, context, assignment.index), context);
}

void serve_alone(const Job& job, Context& context, Journal& journal) {
  const ServedJob served{.job = &job, .journal = &journal};
  serve({&served, 1}, context);
}

/// A store that may depart: the files on its disk stay.
void serve_in_slot(const Job& job, Context& context, Journal& journal, int index) {
  const ServedJob served{.job = &job, .journal = &journal};
  MachineSlot(job, context, journal).run([&](Context& own, int incarnation) {
    run(Store({&served, 1}, own, index, incarnation), own);
  });
}

/// Into the journals of the jobs, by the rank at the other end.
void deal_operations(std::span<const ServedJob> jobs, const RankAssignment& assignment,
                     std::vector<OperationRecord> operations) {
  for (OperationRecord& operation : operations) {
    const bool is_message = operation.kind.starts_with("send") || operation.kind.starts_with("receive");
    const ServedJob* of = &jobs.front();
    for (const ServedJob& served : jobs)
      if (is_message && operation.peer >= served.first) of = &served;
    if (is_message) operation.peer -= of->first;
    operation.rank = of->job->roster().ranks_of(assignment.role)[static_cast<std::size_t>(assignment.index)];
    of->journal->operations.push_back(std::move(operation));
  }
}

}  // namespace

void run_shared_role(std::span<const ServedJob> jobs, Context& context, bool operations) {
  if (!operations) return serve(jobs, context);
  std::vector<OperationRecord> recorded;
  RecordingContext recording(context, recorded);
  serve(jobs, recording);
  deal_operations(jobs, jobs.front().job->roster().assignment(context.rank()), std::move(recorded));
}

namespace {

void run_assigned(const Job& job, Context& context, Journal& journal) {
  const RankAssignment& assignment = job.roster().assignment(context.rank());
  switch (assignment.role) {
    case RankAssignment::Role::worker:
      if (job.roster().steward()) return run(WorkerSlot(job, context, journal, assignment.index), context);
      return run(Worker(job, context, journal, assignment.index), context);
    case RankAssignment::Role::server:
    case RankAssignment::Role::coordinator:
      return run(ParameterServer(job, context, journal, assignment.index), context);
    case RankAssignment::Role::cache_node:
      if (may_cache_node_depart(job, static_cast<std::size_t>(assignment.index)))
        return run(CacheNodeSlot(job, context, journal, assignment.index), context);
      return serve_alone(job, context, journal);
    case RankAssignment::Role::store:
      if (may_store_depart(job, static_cast<std::size_t>(assignment.index)))
        return serve_in_slot(job, context, journal, assignment.index);
      return serve_alone(job, context, journal);
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

}  // namespace

void run_role(const Job& job, Context& context, Journal& journal) {
  restore_copies(job, context);
  run_assigned(job, context, journal);
  journal.discarded_messages += context.discarded_messages();
}

}  // namespace tandem

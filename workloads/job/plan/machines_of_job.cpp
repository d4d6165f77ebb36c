#include "workloads/job/plan/machines_of_job.hpp"

#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem {

std::vector<NeededMachine> needed_machines(const Job& job) {
  return needed_machines(whole_experiment(job), job.spec().platform);
}

Continuation continuation_of(const Job& job) { return job.spec().experiment.continuation(); }

bool has_drawn_generations(const Job& job) {
  return continuation_of(job) == Continuation::restart_on_departure || !needed_machines(job).empty();
}

bool has_generations(const Job& job) {
  const Continuation continuation = continuation_of(job);
  if (continuation != Continuation::in_place) return launches_again(continuation);
  return job.checkpoints().commits.is_enabled() && (job.real_math() || has_drawn_generations(job));
}

std::vector<std::string> hosts_of_machines(const Job& job) {
  const Roster roster(whole_experiment(job));
  std::vector<std::string> hosts;
  for (const Rank worker : roster.workers()) hosts.push_back(roster.host_of(worker));
  for (const NeededMachine& machine : needed_machines(job)) hosts.push_back(machine.host);
  return hosts;
}

}  // namespace tandem

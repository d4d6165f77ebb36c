#include "workloads/job/plan/machines_of_job.hpp"

#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem {

std::vector<NeededMachine> needed_machines(const Job& job) {
  return needed_machines(whole_experiment(job), job.spec().platform);
}

bool recovers_in_place(const Job& job) { return job.roster().steward().has_value(); }

bool has_drawn_generations(const Job& job) {
  return job.spec().experiment.starts_again() || !needed_machines(job).empty();
}

std::vector<std::string> hosts_of_machines(const Job& job) {
  const Roster roster(whole_experiment(job));
  std::vector<std::string> hosts;
  for (const Rank worker : roster.workers()) hosts.push_back(roster.host_of(worker));
  for (const NeededMachine& machine : needed_machines(job)) hosts.push_back(machine.host);
  return hosts;
}

}  // namespace tandem

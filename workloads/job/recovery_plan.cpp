#include "workloads/job/recovery_plan.hpp"

#include "workloads/job/zones.hpp"

namespace tandem {

std::unique_ptr<recovery::Policy> make_recovery_policy(const Job& job) {
  const auto& recovery = job.spec().experiment.recovery;
  const auto& entry = recovery::catalog().find(recovery.policy);
  return entry.make({.workers = static_cast<int>(job.roster().first_workers().size()),
                     .slots = static_cast<int>(job.roster().workers().size()),
                     .least = recovery.least,
                     .give_up = recovery.give_up,
                     .options = Options::resolve(entry.name, entry.options, recovery.options),
                     .zones = zones_of(job),
                     .provisioning = recovery.provisioning,
                     .provisioning_options = recovery.provisioning_options});
}

}  // namespace tandem

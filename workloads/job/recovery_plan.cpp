#include "workloads/job/recovery_plan.hpp"

#include <utility>

#include "workloads/job/job.hpp"
#include "workloads/job/zones.hpp"

namespace tandem {

std::unique_ptr<recovery::Policy> make_recovery_policy(const Experiment& experiment, int slots,
                                                       std::vector<std::size_t> zones) {
  const auto& recovery = experiment.recovery;
  const auto& entry = recovery::catalog().find(recovery.policy);
  return entry.make({.workers = slots - static_cast<int>(experiment.placement.spares.size()),
                     .slots = slots,
                     .least = recovery.least,
                     .give_up = recovery.give_up,
                     .options = Options::resolve(entry.name, entry.options, recovery.options),
                     .zones = std::move(zones),
                     .provisioning = recovery.provisioning,
                     .provisioning_options = recovery.provisioning_options});
}

std::unique_ptr<recovery::Policy> make_recovery_policy(const Job& job) {
  return make_recovery_policy(job.spec().experiment, static_cast<int>(job.roster().workers().size()),
                              zones_of(job));
}

}  // namespace tandem

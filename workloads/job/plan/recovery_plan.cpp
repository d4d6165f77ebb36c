#include "workloads/job/plan/recovery_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "policies/lifetimes/catalog.hpp"
#include "workloads/experiment/key_error.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/slot_machines.hpp"
#include "workloads/job/plan/zones.hpp"

namespace tandem {
namespace {

/// The survival of machines whose lifetimes have a distribution. Pre: check_known_lifetimes().
std::function<double(Seconds)> survival_of(const Experiment& experiment, const ResolvedExperiment& chosen) {
  const auto& transience = experiment.transience;
  if (!transience.may_depart() || chosen.lifetime->lifetime == nullptr) return {};
  auto options = transience.options;
  if (transience.limit > Seconds(0)) options["limit"] = transience.limit.count();
  const std::shared_ptr<const lifetimes::Lifetime> lifetime =
      lifetimes::make_lifetime(transience.lifetime, options);
  return [lifetime, scale = transience.time_scale](Seconds age) {
    return lifetime->survival(age.count() * scale);
  };
}

}  // namespace

std::unique_ptr<recovery::Policy> make_recovery_policy(const Experiment& experiment, int slots,
                                                       std::vector<std::size_t> zones,
                                                       std::vector<SlotMachine> machines) {
  const auto& recovery = experiment.recovery;
  const ResolvedExperiment chosen(experiment);
  const int first = slots - static_cast<int>(experiment.placement.spares.size());
  return chosen.recovery.make()({.workers = std::max(first, recovery.most),
                                 .slots = slots,
                                 .least = recovery.least,
                                 .give_up = recovery.give_up,
                                 .options = chosen.recovery.options(),
                                 .zones = std::move(zones),
                                 .provisioning = recovery.provisioning,
                                 .provisioning_options = recovery.provisioning_options,
                                 .machines = std::move(machines),
                                 .time_scale = experiment.transience.time_scale,
                                 .survival = survival_of(experiment, chosen)});
}

std::unique_ptr<recovery::Policy> make_recovery_policy(const Job& job) {
  return make_recovery_policy(job.spec().experiment, static_cast<int>(job.roster().workers().size()),
                              zones_of(job), machines_of_slots(job));
}

void check_known_lifetimes(const Job& job) {
  if (job.spec().experiment.recovery.policy != "liveput") return;
  if (!groups_of_hosts(job.spec().experiment.transience).empty())
    throw KeyError("recovery.policy",
                   "another policy, because liveput knows only one lifetime of all machines",
                   "models by host (transience.options.by_host)");
  for (const Rank worker : job.roster().workers())
    if (!lifetime_text_of(job.devices().host_of(worker)).empty())
      throw KeyError("recovery.policy", "another policy, because liveput knows only transience.lifetime",
                     fmt::format("tandem:lifetime of host '{}'", job.roster().host_of(worker)));
}

}  // namespace tandem

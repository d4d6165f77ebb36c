#include "workloads/job/plan/fates_of_job.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/lifetimes/catalog.hpp"
#include "policies/lifetimes/fates_by_slot.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/plan/departing_nodes.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/job/plan/zones.hpp"

namespace tandem {

std::unique_ptr<lifetimes::Fates> fates_of(const Job& job) {
  return fates_of(job, job.spec().experiment.seed);
}

std::unique_ptr<lifetimes::Fates> fates_of(const Job& job, std::uint64_t seed) {
  const auto& experiment = job.spec().experiment;
  std::vector<std::string> needed;
  for (const NeededMachine& machine : needed_machines(job)) needed.push_back(machine.host);
  for (std::string& host : hosts_of_departing(job)) needed.push_back(std::move(host));
  const auto zones = zones_of(job, needed);
  const LifetimesOfHosts known(experiment.transience);
  std::map<LifetimeModel, std::size_t> numbers;
  std::vector<std::unique_ptr<lifetimes::Fates>> models;
  std::vector<std::size_t> of_slot;
  const auto add = [&](const platforms::Host& host) {
    const std::string text = lifetime_text_of(host);
    try {
      const LifetimeModel model = known.of(host);
      const auto [number, is_new] = numbers.emplace(model, models.size());
      if (is_new) models.push_back(lifetimes::make_fates(model.name, model.options, seed, zones));
      of_slot.push_back(number->second);
    } catch (const ConfigError& error) {
      if (text.empty()) throw;
      throw ConfigError(experiment.platform + ": host '" + host.name +
                        "', property tandem:lifetime: " + error.what());
    }
  };
  for (const Rank worker : job.roster().workers()) add(job.devices().host_of(worker));
  for (const std::string& host : needed) add(job.spec().platform.host(host));
  return std::make_unique<lifetimes::FatesBySlot>(std::move(models), std::move(of_slot));
}

}  // namespace tandem

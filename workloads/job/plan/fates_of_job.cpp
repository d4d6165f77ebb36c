#include "workloads/job/plan/fates_of_job.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/lifetimes/catalog.hpp"
#include "policies/lifetimes/fates_by_machine.hpp"
#include "policies/lifetimes/fates_by_slot.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/plan/departing_nodes.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/job/plan/zones.hpp"

namespace tandem {
namespace {

/// By slot, numbered in the order of their first slots. Machines without workers have a slot each.
std::vector<std::size_t> machines_of(const std::vector<const platforms::Host*>& hosts, std::size_t workers) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::size_t> of_slot;
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < hosts.size(); ++slot) {
    if (slot >= workers) {
      of_slot.push_back(count++);
      continue;
    }
    const auto [number, is_new] = numbers.try_emplace(platforms::machine_of(*hosts[slot]), count);
    if (is_new) ++count;
    of_slot.push_back(number->second);
  }
  return of_slot;
}

}  // namespace

std::unique_ptr<lifetimes::Fates> fates_of(const Job& job) {
  return fates_of(job, job.spec().experiment.seed);
}

std::unique_ptr<lifetimes::Fates> fates_of(const Job& job, std::uint64_t seed) {
  const auto& experiment = job.spec().experiment;
  std::vector<std::string> needed;
  for (const NeededMachine& machine : needed_machines(job)) needed.push_back(machine.host);
  for (std::string& host : hosts_of_departing(job)) needed.push_back(std::move(host));
  std::vector<const platforms::Host*> hosts;  // by slot
  for (const Rank worker : job.roster().workers()) hosts.push_back(&job.devices().host_of(worker));
  const std::size_t workers = hosts.size();
  for (const std::string& host : needed) hosts.push_back(&job.spec().platform.host(host));
  const std::vector<std::size_t> machine_of = machines_of(hosts, workers);
  std::vector<std::size_t> zones = zones_of(job, needed);
  const std::size_t machines = hosts.empty() ? 0 : std::ranges::max(machine_of) + 1;
  const bool are_shared = machines < hosts.size();
  if (are_shared)
    for (std::size_t slot = 0; slot < hosts.size(); ++slot) zones[machine_of[slot]] = zones[slot];

  const LifetimesOfHosts known(experiment.transience);
  std::map<LifetimeModel, std::size_t> numbers;
  std::vector<std::unique_ptr<lifetimes::Fates>> models;
  std::vector<std::size_t> model_of;  // by machine
  for (std::size_t slot = 0; slot < hosts.size(); ++slot) {
    const platforms::Host& host = *hosts[slot];
    const std::string text = lifetime_text_of(host);
    try {
      const LifetimeModel model = known.of(host);
      const auto [number, is_new] = numbers.emplace(model, models.size());
      if (is_new) models.push_back(lifetimes::make_fates(model.name, model.options, seed, zones));
      if (machine_of[slot] == model_of.size()) model_of.push_back(number->second);
      if (model_of[machine_of[slot]] != number->second)
        throw ConfigError("expected the lifetime of the other hosts of machine '" +
                          platforms::machine_of(host) + "', found '" + model.name +
                          "' with other options or another model");
    } catch (const ConfigError& error) {
      if (text.empty()) throw;
      throw ConfigError(experiment.platform + ": host '" + host.name +
                        "', property tandem:lifetime: " + error.what());
    }
  }
  std::unique_ptr<lifetimes::Fates> fates =
      std::make_unique<lifetimes::FatesBySlot>(std::move(models), std::move(model_of));
  if (!are_shared) return fates;
  return std::make_unique<lifetimes::FatesByMachine>(std::move(fates), machine_of);
}

}  // namespace tandem

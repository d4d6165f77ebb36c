#include "workloads/job/plan/slot_machines.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "platforms/description_index.hpp"
#include "policies/provisioning/policy.hpp"
#include "policies/vocabulary/money.hpp"
#include "workloads/experiment/key_error.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem {
namespace {

Options provisioning_options(const Experiment& experiment) {
  return ResolvedExperiment(experiment).provisioning.options();
}

std::string text_of(const platforms::Host& host, const char* property) {
  const auto found = host.properties.find(property);
  return found == host.properties.end() ? "" : found->second;
}

}  // namespace

std::vector<SlotMachine> machines_of_slots(const Job& job) {
  const Experiment experiment = whole_experiment(job);
  const bool counts_machines = experiment.recovery.policy == "liveput";
  if (!counts_machines &&
      !provisioning::asks_for_machines(experiment.recovery.provisioning, provisioning_options(experiment)))
    return {};
  const Roster roster(experiment);
  const LifetimesOfHosts lifetimes(experiment.transience);
  const platforms::Description& platform = job.spec().platform;
  const platforms::HostIndex hosts(platform);
  std::map<std::string, int> hosts_of_machine;
  for (const auto& host : platform.hosts) ++hosts_of_machine[text_of(host, "tandem:machine")];
  std::map<std::string, int> numbers;
  std::vector<SlotMachine> machines;
  double first_speed = 0.0;
  for (const Rank worker : roster.workers()) {
    const platforms::Host& host = hosts.host(roster.host_of(worker));
    const double speed = host.device.speed_for(experiment.workload.precision).count();
    if (machines.empty()) first_speed = speed;
    SlotMachine& machine = machines.emplace_back();
    machine.speed = first_speed > 0.0 && speed > 0.0 ? speed / first_speed : 1.0;
    machine.stays = lifetimes.stay(host);
    machine.machine =
        numbers.emplace(platforms::machine_of(host), static_cast<int>(numbers.size())).first->second;
    if (const auto price = parse_money(text_of(host, "price_per_hour")))
      machine.price_per_hour = price->dollars() / hosts_of_machine[text_of(host, "tandem:machine")];
  }
  return machines;
}

void check_known_prices(const Job& job) {
  const Experiment& experiment = job.spec().experiment;
  if (!provisioning::asks_for_prices(experiment.recovery.provisioning, provisioning_options(experiment)))
    return;
  for (const Rank worker : job.roster().workers())
    if (text_of(job.devices().host_of(worker), "price_per_hour").empty())
      throw KeyError(
          "recovery.provisioning",
          fmt::format("a price (price_per_hour, or offer) of every host of a worker, or another policy; "
                      "host '{}' has none",
                      job.roster().host_of(worker)),
          "'" + experiment.recovery.provisioning + "'");
}

}  // namespace tandem

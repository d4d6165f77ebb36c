#include "workloads/job/check/run_description.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "platforms/description.hpp"
#include "platforms/description_index.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/job/check/job_description.hpp"
#include "workloads/job/check/memory_estimate.hpp"
#include "workloads/job/check/shard_shares.hpp"
#include "workloads/job/plan/commit_machines.hpp"
#include "workloads/job/plan/slot_machines.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"
#include "workloads/job/plan/zones.hpp"

namespace tandem {
namespace {

/// Whose network a simulation of the job represents. calibration_load: share of the machine that other
/// programs used while it was measured.
NetworkOrigin simulated_network(const Job& job) {
  const auto& experiment = job.spec().experiment;
  if (experiment.physics.network == NetworkSource::platform)
    return {.kind = "simulated", .of = "platform", .platform = experiment.platform};
  const Profile* profile = job.devices().profile();
  TANDEM_CHECK(profile != nullptr, "physics.network is profile, but there is none");
  NetworkOrigin network{.kind = "simulated", .calibration_load = profile->other_load};
  if (profile->cluster.empty()) {
    network.of = "this machine";
    network.machine = profile->machine;
  } else {
    const bool is_real = !profile->machines.empty();
    network.of = is_real ? "real cluster" : "emulated cluster";
    network.platform = profile->cluster;
    network.machines = profile->machines;
  }
  return network;
}

/// The prices of the machines of these hosts: those with the property price_per_hour. Pre: the platform was
/// checked.
std::vector<MachinePrice> prices_of(const platforms::Description& platform,
                                    const std::vector<std::string>& hosts) {
  const platforms::HostIndex known_hosts(platform);
  std::vector<MachinePrice> prices;
  std::map<std::string, std::size_t> places;  // by machine
  for (const std::string& name : std::set(hosts.begin(), hosts.end())) {
    const platforms::Host& host = known_hosts.host(name);
    const auto property = [&](const char* key, const char* absent) {
      const auto found = host.properties.find(key);
      return found == host.properties.end() ? absent : found->second;
    };
    const std::string price = property("price_per_hour", ""), machine = property("tandem:machine", "");
    if (price.empty()) continue;
    const auto [known, is_new] = places.try_emplace(machine, prices.size());
    if (!is_new) {
      prices[known->second].hosts.push_back(name);
    } else {
      const auto seconds = [&](const char* key, const char* absent) {
        return parse_seconds(property(key, absent)).value();
      };
      prices.push_back({.machine = machine,
                        .hosts = {name},
                        .per_hour = parse_money(price).value(),
                        .step = seconds("billing_step", "1s"),
                        .minimum = seconds("billing_minimum", "0s"),
                        .free_if_revoked_within = seconds("free_if_revoked_within", "0s"),
                        .from_request = property("billing_from", "boot") == std::string("request"),
                        .offer = property("offer", ""),
                        .date = property("tandem:price_date", "")});
    }
  }
  return prices;
}

/// Empty where the rates are those of this machine's storage, which is not measured.
std::vector<DataDisk> data_disks_of(const Job& job, const std::string& world) {
  const DevicePlan& devices = job.devices();
  if (!job.data().from_storage() ||
      (world == "measured" && !devices.are_emulated() && devices.measured_disk() == nullptr))
    return {};
  std::map<std::string, DataDisk> disks;
  const auto add = [&](const std::string& host, double rate) {
    disks.try_emplace(host, DataDisk{host, rate});
  };
  const platforms::HostIndex hosts(job.spec().platform);
  const auto& placement = job.spec().experiment.placement;
  for (const std::string& name : placement.stores.empty() ? placement.cache_nodes : placement.stores) {
    const auto& all = hosts.host(name).disks;
    if (const auto* measured = devices.measured_disk(); measured != nullptr)
      add(name, measured->read_rate);
    else if (!all.empty())
      add(name, all.front().read_rate.count());
  }
  std::vector<DataDisk> list;
  for (auto& [host, disk] : disks) list.push_back(std::move(disk));
  return list;
}

}  // namespace

RunInfo describe_run(const Job& job, const std::string& world) {
  RunInfo info;
  info.world = world;
  info.experiment = whole_experiment(job);
  info.machine = this_machine();
  const Roster roster(info.experiment);
  for (const RankAssignment& assignment : roster.assignments()) {
    info.roles.emplace_back(role_name(assignment.role));
    info.hosts.push_back(assignment.host);
  }
  info.versions = {{"tandem", TANDEM_VERSION}};
  info.profile = info.experiment.physics.profile;
  if (world != "measured") {
    info.network = simulated_network(job);
    info.devices = job.devices().are_calibrated()              ? "calibrated"
                   : info.experiment.physics.predictor.empty() ? "catalogue"
                                                               : "fitted";
  }
  if (const auto* plan = job.exchange().all_reduce()) {
    info.all_reduce = to_json(*plan);
    info.all_reduce["summary"] = describe(*plan);
  }
  const Generation* generation = job.generation();
  const ResumePoint* origin = job.resume();
  if (generation != nullptr && generation->number() > 0) {
    info.generations = describe_generations(*generation, origin == nullptr ? 0 : origin->round);
    origin = generation->origin ? &*generation->origin : nullptr;
  }
  if (origin != nullptr) info.resumed = ResumeOrigin{origin->directory, origin->round};
  if (const auto& layout = job.exchange().shard_layout(); !layout.empty()) {
    const std::string& policy = info.experiment.sync.sharding;
    info.sharding = describe_shards(layout, policy);
    if (layout.size() > 1)
      info.sharding.update(
          describe_shares(shares_of_policies(job.model(), layout, policy), shard_hosts(job)));
  }
  const Experiment& experiment = info.experiment;
  if (experiment.continuation() != Continuation::none) {
    info.zones = zones_of(job);
    info.slot_machines = machines_of_slots(job);
    info.places = places_of(job);
  }
  // The one policy that knows them.
  if (experiment.checkpoint.policy == "hazard")
    info.lifetimes = describe_lifetimes(job, machines_that_stop(job));
  info.prices = prices_of(job.spec().platform, info.hosts);
  info.data_disks = data_disks_of(job, world);
  info.memory = describe_memory(job);
  std::optional<Job> whole;
  if (generation != nullptr && !generation->hosts.empty())
    whole.emplace(JobSpec{info.experiment, job.spec().platform, job.spec().directory, job.spec().data_memory,
                          job.spec().locate},
                  std::nullopt);
  info.question = question_of(whole ? *whole : job);
  info.warnings = warnings_of(whole ? *whole : job);
  return info;
}

nlohmann::json describe_fitted_steps(const Job& job) {
  std::set<std::string> devices;
  for (const Rank worker : job.roster().workers()) devices.insert(job.devices().host_of(worker).device.name);
  auto steps = nlohmann::json::array();
  for (const std::string& device : devices)
    if (const FittedStep* step = job.devices().fitted_step(device))
      steps.push_back({{"device", device},
                       {"step_s", step->value.count()},
                       {"lower_s", step->lower.count()},
                       {"upper_s", step->upper.count()},
                       {"confidence", step->confidence}});
  return steps;
}

}  // namespace tandem

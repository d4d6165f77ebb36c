#include "workloads/job/placement/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "platforms/description_index.hpp"
#include "policies/lifetimes/catalog.hpp"
#include "policies/provisioning/tiers.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/job/placement/needed_machines.hpp"
#include "workloads/job/placement/roster.hpp"

namespace tandem {
namespace {

using platforms::Description;
using platforms::Host;

bool computes(const Host& host) { return host.speed.count() > 0.0; }

class Placer {
 public:
  Placer(Experiment& experiment, const Description& platform, const Locate& locate, const CheckPlaced& check)
      : experiment_(experiment),
        chosen_(experiment),
        placement_(experiment.placement),
        platform_(platform),
        hosts_(platform),
        locate_(locate),
        check_(check) {}

  void run() {
    if (platform_.hosts.empty())
      throw ConfigError(platform_.file + ": expected at least one host, found none");
    check_known("placement.workers", placement_.workers);
    check_known("placement.spares", placement_.spares);
    take_word_for_servers();
    if (servers_ == Servers::listed)
      check_known("placement.servers", placement_.servers, {"co-located", "own"});
    check_known("placement.cache_nodes", placement_.cache_nodes);
    check_known("placement.stores", placement_.stores);
    if (!placement_.directory.empty()) check_known("placement.directory", {placement_.directory});
    if (!placement_.evaluator.empty() && placement_.evaluator != first_worker_evaluates)
      check_known("placement.evaluator", {placement_.evaluator}, {first_worker_evaluates});
    fill_defaults();
    check_hosts_compute();
    check_slots();
    check_precision();
    check_sync();
    check_commits();
    check_(experiment_, chosen_);
    if (launches_again(experiment_.continuation())) check_least();
    if (experiment_.transience.may_depart()) check_departures();
    if (experiment_.data.source == DataSource::storage) check_storage();
  }

 private:
  [[noreturn]] void fail_at(const std::string& key, const std::string& expected,
                            const std::string& found) const {
    const Origin origin = locate_(key);
    fail(origin.place, origin.label, expected, found);
  }

  /// `words`: accepted instead of a list of hosts.
  void check_known(const std::string& key, const std::vector<std::string>& hosts,
                   const std::vector<std::string>& words = {}) const {
    for (const auto& host : hosts) {
      if (hosts_.find(host) != nullptr) continue;
      std::vector<std::string> names = host_names();
      std::string expected = "a host of " + platform_.file;
      if (hosts.size() == 1)
        for (const auto& word : words) {
          names.push_back(word);
          expected += " | " + word;
        }
      const std::string nearest = nearest_name(host, names);
      fail_at(key, expected, quote(host) + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
  }

  std::vector<std::string> host_names() const {
    std::vector<std::string> names;
    for (const auto& host : platform_.hosts) names.push_back(host.name);
    return names;
  }

  /// If a host has that name, the text is the host, not the word.
  void take_word_for_servers() {
    const auto is_word = [&](const std::string& word) {
      return placement_.servers == std::vector<std::string>{word} && hosts_.find(word) == nullptr;
    };
    if (is_word("co-located")) servers_ = Servers::co_located;
    if (is_word("own")) servers_ = Servers::own;
    if (servers_ != Servers::listed) placement_.servers.clear();
  }

  /// While the others continue.
  bool may_lose_workers() const { return experiment_.continuation() == Continuation::in_place; }

  /// A copy on the same host would be lost with it, and memory has no room for all commits.
  void check_buddies() const {
    const auto& recovery = experiment_.recovery;
    if (const auto backups = provisioning::backups_of(recovery.provisioning, recovery.provisioning_options);
        !backups.empty())
      check_known("recovery.provisioning_options.backups", backups);
    if (experiment_.checkpoint.policy.empty() || experiment_.checkpoint.to != CommitPlace::buddy) return;
    if (Roster(experiment_).keepers().size() == 1)
      fail_at("checkpoint.to", "directory or local, because a single host has nobody to keep copies",
              quote(to_text(experiment_.checkpoint.to)));
    if (experiment_.checkpoint.keep == 0)
      fail_at("checkpoint.keep",
              "at least 1 with checkpoint.to buddy, because all commits would stay in memory", "'0'");
  }

  /// Servers learn of a departure at different times.
  void check_commits() const {
    check_buddies();
    const auto& membership = algorithm().make.membership;
    if (experiment_.checkpoint.policy.empty() || !may_lose_workers() || membership.rounds_are_updates ||
        placement_.servers.size() <= 1)
      return;
    fail_at("placement.servers",
            "one server for checkpoint.policy with " + algorithm().name +
                ", because several would count its rounds differently when a worker departs "
                "(transience.lifetime)",
            std::to_string(placement_.servers.size()));
  }

  // Workers are chosen before servers are dropped, so that every route gets the same workers.
  void fill_defaults() {
    const auto route = experiment_.sync.over;
    const bool coordinated = sync::has_coordinator(algorithm().make, route);
    const bool has_server = route == sync::Route::server || coordinated;
    // The steward runs there, on the first host.
    const bool has_steward = may_lose_workers();
    const bool workers_by_default = placement_.workers.empty();
    if (servers_ == Servers::own && !workers_by_default)
      placement_.servers = hosts_without_role(placement_.workers);
    else if (servers_ != Servers::co_located && (has_server || has_steward) && placement_.servers.empty())
      placement_.servers = default_server();
    if (workers_by_default) placement_.workers = hosts_without_role(placement_.servers);
    placement_.workers_by_default |= workers_by_default;
    if (placement_.workers.empty() && platform_.hosts.size() == 1)
      placement_.workers.assign(static_cast<std::size_t>(slots_of(platform_.hosts.front())),
                                platform_.hosts.front().name);
    keep_so_many_workers();
    const auto most = static_cast<std::size_t>(algorithm().make.most_workers);
    if (workers_by_default && most > 0 && placement_.workers.size() > most) placement_.workers.resize(most);
    if (placement_.worker_count > 0) placement_.worker_count = static_cast<int>(placement_.workers.size());
    if (placement_.workers.empty())
      fail_at("placement.workers", "at least one host without another role", "none; list the workers");
    // A job that starts again waits for all workers, unless the user says with how few it may continue.
    auto& recovery = experiment_.recovery;
    if (launches_again(experiment_.continuation()) && !recovery.shrinks() &&
        !locate_("recovery.least").is_given)
      recovery.least = static_cast<int>(placement_.workers.size());
    if (servers_ == Servers::co_located) placement_.servers = placement_.workers;
    if (servers_ == Servers::own && has_server) check_own_hosts();
    if (!has_server && !has_steward) placement_.servers.clear();
    if (route != sync::Route::server && !placement_.servers.empty()) placement_.servers.resize(1);
    if (experiment_.data.peers == Peers::directory && placement_.directory.empty() &&
        !placement_.cache_nodes.empty())
      placement_.directory = placement_.cache_nodes.front();
    if (experiment_.evaluate_every == 0)
      placement_.evaluator.clear();
    else if (placement_.evaluator.empty())
      placement_.evaluator =
          placement_.servers.empty() ? placement_.workers.front() : placement_.servers.front();
  }

  void keep_so_many_workers() {
    const auto wanted = static_cast<std::size_t>(placement_.worker_count);
    if (wanted > placement_.workers.size())
      fail_at("placement.worker_count",
              "at most " + std::to_string(placement_.workers.size()) + ", the number of workers",
              "'" + std::to_string(wanted) + "'");
    if (wanted > 0) placement_.workers.resize(wanted);
  }

  /// Empty when the servers need hosts of their own and all hosts have other roles.
  std::vector<std::string> default_server() const {
    std::vector<std::string> hosts = host_names();
    std::erase_if(hosts, [&](const auto& host) { return !computes(hosts_.host(host)); });
    if (servers_ == Servers::own) hosts = hosts_without_role({});
    for (const auto& host : hosts)
      if (!hosts_.host(host).disks.empty()) return {host};
    if (!hosts.empty()) hosts.resize(1);
    return hosts;
  }

  void check_own_hosts() const {
    const auto& workers = placement_.workers;
    const bool shared = std::any_of(
        placement_.servers.begin(), placement_.servers.end(),
        [&](const auto& host) { return std::find(workers.begin(), workers.end(), host) != workers.end(); });
    if (placement_.servers.empty() || shared)
      fail_at("placement.servers", "own, which needs a host without another role",
              "none in " + platform_.file + "; co-located uses the hosts of the workers");
  }

  /// Hosts that are neither among `others` nor cache nodes, stores, their directory or the evaluator.
  std::vector<std::string> hosts_without_role(const std::vector<std::string>& others) const {
    std::set<std::string> named(others.begin(), others.end());
    named.insert(placement_.spares.begin(), placement_.spares.end());
    named.insert(placement_.cache_nodes.begin(), placement_.cache_nodes.end());
    named.insert(placement_.stores.begin(), placement_.stores.end());
    named.insert(placement_.evaluator);
    named.insert(placement_.directory);
    std::vector<std::string> hosts;
    for (const auto& host : platform_.hosts)
      if (!named.contains(host.name) && computes(host)) hosts.push_back(host.name);
    return hosts;
  }

  /// Hosts of the workers and spares.
  std::vector<std::string> all_slots() const {
    std::vector<std::string> hosts = placement_.workers;
    hosts.insert(hosts.end(), placement_.spares.begin(), placement_.spares.end());
    return hosts;
  }

  std::string place_of(const Host& host) const { return platform_.file + ": host '" + host.name + "'"; }

  int slots_of(const Host& host) const {
    const auto slots = host.properties.find("slots");
    if (slots == host.properties.end()) return std::max(1, host.cores);
    const auto value = parse_bytes(slots->second);
    const bool is_count = slots->second.find_first_not_of("0123456789") == std::string::npos;
    if (!value || !is_count || value->count() > 1'000'000)
      throw ConfigError(place_of(host) + ": property 'slots': expected integer >= 0, found '" +
                        slots->second + "'");
    return static_cast<int>(value->count());
  }

  /// A store reads its disk; every other rank computes.
  void check_hosts_compute() const {
    const std::vector<std::pair<const char*, std::vector<std::string>>> used = {
        {"placement.workers", placement_.workers},       {"placement.spares", placement_.spares},
        {"placement.servers", placement_.servers},       {"placement.cache_nodes", placement_.cache_nodes},
        {"placement.directory", {placement_.directory}}, {"placement.evaluator", {placement_.evaluator}}};
    for (const Host& host : platform_.hosts) {
      if (computes(host)) continue;
      for (const auto& [key, hosts] : used)
        if (std::find(hosts.begin(), hosts.end(), host.name) != hosts.end())
          fail_at(key, "hosts that compute",
                  quote(host.name) + ", whose speed in " + platform_.file + " is 0");
    }
  }

  void check_slots() const {
    const std::vector<std::string> slots = all_slots();
    std::unordered_map<std::string_view, int> workers;
    for (const auto& host : slots) ++workers[host];
    for (const auto& host : platform_.hosts) {
      const auto count = workers.find(host.name);
      if (count == workers.end() || count->second <= slots_of(host)) continue;
      fail_at("placement.workers",
              "at most " + std::to_string(slots_of(host)) + " on host '" + host.name +
                  "' (its property 'slots', or else its cores)",
              std::to_string(count->second) + "; name it less often, or raise <prop id=\"slots\"> in " +
                  platform_.file);
    }
  }

  /// A profile and a predictor hold times of the precision in which they were measured. Real mathematics uses
  /// the precision of the experiment. If its devices are emulated with another one, the job has a warning.
  void check_precision() const {
    const auto& workload = experiment_.workload;
    const bool is_measured =
        (experiment_.run.devices == DeviceSpeed::native && !experiment_.physics.profile.empty()) ||
        !experiment_.physics.predictor.empty();
    if (workload.math == Math::real || is_measured) return;
    const auto slots = all_slots();
    if (slots.empty()) return;
    const platforms::Device& measured = workload.measured_on.empty()
                                            ? platform_.host(slots.front()).device
                                            : platforms::find_device(workload.measured_on);
    const bool knows_rate = measured.gives(workload.precision) || workload.precision == Precision::tf32;
    const platforms::Device* last = nullptr;
    for (const auto& name : slots) {
      const platforms::Device& device = hosts_.host(name).device;
      // Most hosts have the device of the host before.
      if (last != nullptr && *last == device) continue;
      last = &device;
      const bool is_timed = workload.has_measured_times() && device.name == measured.name;
      if (workload.has_measured_times() && !is_timed && !knows_rate)
        fail_at("workload.measured_on",
                "a device whose data sheet gives a rate in " + std::string(to_text(workload.precision)) +
                    ", from which to scale times to device '" + device.name + "' (host '" + name + "')",
                quote(measured.name));
      if (device.gives(workload.precision) || workload.precision == Precision::tf32 || is_timed) continue;
      fail_at("workload.precision",
              "a precision that the data sheet of device '" + device.name + "' (host '" + name + "' of " +
                  platform_.file + ") gives (" + device.given_precisions() + "), or a profile measured in it",
              quote(to_text(workload.precision)));
    }
  }

  const Catalog<sync::Factory>::Entry& algorithm() const { return chosen_.algorithm.entry(); }

  /// Errors: OptionError when this number of workers cannot have the options of the algorithm.
  void make_policies(int workers) const {
    const auto& chosen = algorithm();
    const sync::Setting setting = chosen_.sync_setting(workers);
    chosen.make.make_worker(setting, 0);
    chosen.make.update_rule(setting);
    if (chosen.make.make_server != nullptr) chosen.make.make_server(setting);
  }

  // Some options depend on the number of workers, which is known only here.
  void check_sync() const {
    const auto& chosen = algorithm();
    const int most = chosen.make.most_workers;
    if (most > 0 && static_cast<int>(placement_.workers.size()) > most)
      fail_at("placement.workers", "at most " + std::to_string(most) + " for " + chosen.name,
              std::to_string(placement_.workers.size()));
    check_progress();
    try {
      make_policies(static_cast<int>(placement_.workers.size()));
    } catch (const OptionError& error) {
      const std::string place = locate_("sync.options." + error.option()).place;
      throw ConfigError(place + ": key '" + locate_("sync.options").label + "' of " + error.what());
    }
  }

  void check_departures() const {
    check_most();
    check_growth();
    check_needed_machines();
    const auto& transience = experiment_.transience;
    try {
      lifetimes::make_fates(transience.lifetime, transience.options, experiment_.seed,
                            std::vector<std::size_t>(all_slots().size(), 0));
    } catch (const OptionError& error) {
      throw ConfigError(locate_("transience.options." + error.option()).place + ": key '" +
                        locate_("transience.options").label + "' of " + error.what());
    }
  }

  /// Their departures start the job again, also where workers recover in place.
  void check_needed_machines() const {
    if (experiment_.stop.seconds <= Seconds(0) || !may_lose_workers()) return;
    const auto machines = needed_machines(experiment_, platform_);
    if (machines.empty()) return;
    fail_at("stop.seconds",
            fmt::format("stop.rounds or stop.epochs, because the machine of the {} on '{}' may depart "
                        "(tandem:lifetime), and a job that starts again counts no time that was lost",
                        machines.front().roles, machines.front().host),
            quote(experiment_.stop.seconds.count()));
  }

  void check_most() const {
    const auto workers = placement_.workers.size();
    if (experiment_.recovery.least > static_cast<int>(workers))
      fail_at("recovery.least", fmt::format("at most {}, the number of workers", workers),
              quote(experiment_.recovery.least));
  }

  /// Beyond the workers that the job begins with, there are the slots for spares.
  void check_growth() const {
    const int most = experiment_.recovery.most;
    if (most == 0) return;
    const auto workers = static_cast<int>(placement_.workers.size());
    const auto slots = static_cast<int>(all_slots().size());
    if (most < workers || most > slots)
      fail_at("recovery.most",
              fmt::format("0, or {} to {}: the number of workers, and that with placement.spares", workers,
                          slots),
              quote(most));
    const int limit = algorithm().make.most_workers;
    if (limit > 0 && most > limit)
      fail_at("recovery.most", fmt::format("at most {} for {}", limit, algorithm().name), quote(most));
  }

  /// Options of the algorithm may need more workers.
  void check_least() const {
    const auto workers = static_cast<int>(placement_.workers.size());
    const int least = experiment_.recovery.least;
    check_most();
    for (int fewer = workers - 1; fewer >= least; --fewer) {
      try {
        make_policies(fewer);
      } catch (const OptionError& error) {
        fail_at("recovery.least",
                fmt::format("at least {}, because with {} workers {}", fewer + 1, fewer, error.what()),
                quote(least));
      }
    }
  }

  // Server shards finish the same rounds at different times, unless the first one says when.
  void check_progress() const {
    const auto& chosen = algorithm();
    if (!chosen.make.uses_done || placement_.servers.size() < 2) return;
    if (experiment_.stop.seconds == Seconds(0.0) || experiment_.sync.decides == PushOrder::first_server)
      return;
    fail_at("stop.seconds",
            "stop.rounds or stop.epochs, or sync.decides first-server, because " +
                std::to_string(placement_.servers.size()) + " servers of " + chosen.name +
                " would each measure progress by their own clock",
            "a limit of time");
  }

  // If the platform does not give the size, it is assumed to be large enough.
  void check_fits(const Host& host, const std::map<std::string, std::string>& properties,
                  const std::string& property, const std::string& what, const std::string& key,
                  Bytes capacity) const {
    const auto found = properties.find(property);
    if (found == properties.end()) return;
    const auto size = parse_bytes(found->second);
    if (!size)
      throw ConfigError(place_of(host) + ": property '" + property +
                        "': expected a size (like 4GiB), found '" + found->second + "'");
    if (capacity > *size)
      fail_at(key, "at most " + found->second + ", the " + what + " of host '" + host.name + "'",
              "'" + to_text(capacity) + "'");
  }

  void check_disk(const std::string& key, const Host& host) const {
    if (host.disks.empty()) fail_at(key, "hosts with a disk", quote(host.name) + ", which has none");
  }

  void check_storage() const {
    for (const auto& name : placement_.cache_nodes) {
      const Host& host = platform_.host(name);
      const auto& data = experiment_.data;
      if (placement_.stores.empty() || data.disk_capacity > Bytes(0))
        check_disk("placement.cache_nodes", host);
      check_fits(host, host.properties, "memory", "memory", "data.cache_capacity", data.cache_capacity);
      if (placement_.stores.empty())
        check_fits(host, host.disks.front().properties, "size", "disk", "data.cache_capacity",
                   data.cache_capacity);
      if (data.disk_capacity > Bytes(0))
        check_fits(host, host.disks.front().properties, "size", "disk", "data.disk_capacity",
                   data.disk_capacity);
    }
    std::set<std::string> seen;
    for (const auto& name : placement_.stores) {
      check_disk("placement.stores", platform_.host(name));
      if (!seen.insert(name).second)
        fail_at("placement.stores", "a different host for each store, because two would share one disk",
                quote(name) + " twice");
    }
  }

  enum class Servers { listed, co_located, own };

  Experiment& experiment_;
  const ResolvedExperiment chosen_;
  Experiment::Placement& placement_;
  Servers servers_ = Servers::listed;
  const Description& platform_;
  const platforms::HostIndex hosts_;
  const Locate& locate_;
  const CheckPlaced& check_;
};

}  // namespace

void place_roles(Experiment& experiment, const Description& platform, const Locate& locate,
                 const CheckPlaced& check) {
  Placer(experiment, platform, locate, check).run();
}

}  // namespace tandem

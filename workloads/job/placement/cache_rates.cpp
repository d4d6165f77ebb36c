#include "workloads/job/placement/cache_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <variant>

#include "policies/cache/policy.hpp"
#include "policies/cache/training/stated_rates.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/placement/disk_properties.hpp"

namespace tandem {
namespace {

namespace option = cache::rate_option;
using Hosts = std::vector<std::string>;

bool is_stated(const Experiment& experiment, const char* name) {
  const auto found = experiment.data.cache_options.find(name);
  if (found == experiment.data.cache_options.end()) return false;
  const auto* real = std::get_if<double>(&found->second);
  return real == nullptr || *real > 0.0;
}

bool asks_peers(const Experiment& experiment) {
  return experiment.data.peers != Peers::none && experiment.placement.cache_nodes.size() > 1;
}

bool needs_rates(const Experiment& experiment) {
  return experiment.data.source == DataSource::storage && ResolvedExperiment(experiment).cache->needs.rates;
}

constexpr BytesPerSecond unlimited{std::numeric_limits<double>::infinity()};

/// The least bandwidth and the longest latency.
struct Slowest {
  cache::Rate rate{unlimited, Seconds(0)};
  void add(BytesPerSecond bandwidth, Seconds latency) {
    rate.bandwidth = std::min(rate.bandwidth, bandwidth);
    rate.latency = std::max(rate.latency, latency);
  }
};

class RatesOfPlatform {
 public:
  RatesOfPlatform(const Experiment& experiment, const platforms::Description& platform,
                  const platforms::Network& network)
      : experiment_(experiment), platform_(platform), network_(network) {}

  cache::Rate memory() const {
    Slowest slowest;
    for (const auto& name : nodes()) slowest.add(platform_.host(name).device.memory_rate, Seconds(0));
    return slowest.rate;
  }
  cache::Rate own_disk() const { return disk_of(nodes(), 1.0); }
  cache::Rate peer() const {
    Slowest slowest;
    for (const auto& from : nodes())
      for (const auto& to : nodes())
        if (from != to) add_route(from, to, slowest);
    // Several nodes of one host.
    if (std::isinf(slowest.rate.bandwidth.count())) add_route(nodes().front(), nodes().front(), slowest);
    return slowest.rate;
  }
  /// While every node reads.
  cache::Rate store() const {
    const Hosts& stores = experiment_.placement.stores;
    if (stores.empty()) return own_disk();
    const double readers = static_cast<double>(nodes().size()) / static_cast<double>(stores.size());
    const cache::Rate disk = disk_of(stores, readers), network = from_stores(stores);
    return {std::min(disk.bandwidth, network.bandwidth), network.latency + disk.latency};
  }

 private:
  const Hosts& nodes() const { return experiment_.placement.cache_nodes; }

  /// Rate of the first disk of each host, if `readers` nodes read it at the same time.
  cache::Rate disk_of(const Hosts& hosts, double readers) const {
    Slowest slowest;
    for (const auto& name : hosts) {
      const platforms::Host& host = platform_.host(name);
      const std::string place = place_of(host, platform_.file);
      if (host.disks.empty())
        throw ConfigError(place + ": expected a disk, because cache policy " + experiment_.data.cache +
                          " compares what reads cost, found none");
      const DiskService service = service_of(host.disks.front(), place);
      slowest.add(host.disks.front().read_rate / readers,
                  service.latency * std::max(1.0, readers / service.parallel));
    }
    return slowest.rate;
  }

  /// Each node reads from all stores at the same time, and channels are shared by all that cross them.
  cache::Rate from_stores(const Hosts& stores) const {
    Slowest slowest;
    const auto flows = static_cast<double>(stores.size());
    if (network_.routes.empty()) {
      slowest.add(network_.typical.bandwidth / static_cast<double>(nodes().size()) * flows,
                  network_.typical.latency);
      return slowest.rate;
    }
    std::map<int, double> crossing;
    for (const auto& from : stores)
      for (const auto& to : nodes())
        for (const int channel : route(from, to).channels) ++crossing[channel];
    for (const auto& from : stores)
      for (const auto& to : nodes()) slowest.add(unlimited, route(from, to).latency);
    for (const auto& [number, count] : crossing) {
      const auto& channel = network_.channels[static_cast<std::size_t>(number)];
      slowest.add(channel.bandwidth / (channel.shared ? count : 1.0) * flows, Seconds(0));
    }
    return slowest.rate;
  }

  void add_route(const std::string& from, const std::string& to, Slowest& slowest) const {
    if (network_.routes.empty()) return slowest.add(network_.typical.bandwidth, network_.typical.latency);
    slowest.add(unlimited, route(from, to).latency);
    for (const int channel : route(from, to).channels)
      slowest.add(network_.channels[static_cast<std::size_t>(channel)].bandwidth, Seconds(0));
  }
  const platforms::Route& route(const std::string& from, const std::string& to) const {
    const auto place = [&](const std::string& host) {
      const auto found = std::ranges::find(network_.hosts, host);
      TANDEM_CHECK(found != network_.hosts.end(), "host", host);
      return static_cast<std::size_t>(found - network_.hosts.begin());
    };
    const auto& found = network_.routes[place(from) * network_.hosts.size() + place(to)];
    if (found) return *found;
    throw ConfigError(platform_.file + ": expected a route from '" + from + "' to '" + to +
                      "', because cache policy " + experiment_.data.cache +
                      " compares what reads cost, found none");
  }

  const Experiment& experiment_;
  const platforms::Description& platform_;
  const platforms::Network& network_;
};

/// Whole microseconds and MB/s read better than 99.99999999.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

void set(Experiment& experiment, const char* bandwidth, const char* latency, const cache::Rate& rate) {
  auto& options = experiment.data.cache_options;
  // No link and no disk is faster than this.
  constexpr double most = 1e9;
  options[bandwidth] = rounded(std::min(most, rate.bandwidth.count() / 1e6));
  if (latency != nullptr) options[latency] = rounded(rate.latency.count() * 1e6);
}

bool needs_network(const Experiment& experiment) {
  return (asks_peers(experiment) && !is_stated(experiment, option::peer)) ||
         (!experiment.placement.stores.empty() && !is_stated(experiment, option::store));
}

}  // namespace

std::vector<std::string> hosts_of_cache_rates(const Experiment& experiment) {
  if (!needs_rates(experiment) || !needs_network(experiment)) return {};
  Hosts hosts;
  std::set<std::string> known;
  for (const auto* of : {&experiment.placement.cache_nodes, &experiment.placement.stores})
    for (const auto& host : *of)
      if (known.insert(host).second) hosts.push_back(host);
  return hosts;
}

void set_cache_rates(Experiment& experiment, const platforms::Description& platform,
                     const platforms::Network& network) {
  if (!needs_rates(experiment)) return;
  const RatesOfPlatform rates(experiment, platform, network);
  if (!is_stated(experiment, option::memory)) set(experiment, option::memory, nullptr, rates.memory());
  if (experiment.data.disk_capacity > Bytes(0) && !is_stated(experiment, option::disk))
    set(experiment, option::disk, option::disk_latency, rates.own_disk());
  if (asks_peers(experiment) && !is_stated(experiment, option::peer))
    set(experiment, option::peer, option::peer_latency, rates.peer());
  if (!is_stated(experiment, option::store))
    set(experiment, option::store, option::store_latency, rates.store());
}

}  // namespace tandem

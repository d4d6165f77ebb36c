#include "platforms/neighbours.hpp"

#include <algorithm>
#include <boost/graph/adjacency_matrix.hpp>
#include <boost/graph/kruskal_min_spanning_tree.hpp>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "platforms/load.hpp"
#include "platforms/short_clusters.hpp"

namespace tandem::platforms {
namespace {

constexpr const char* kUndeclaredLoopback = "__loopback__";  // SimGrid's name of it

constexpr int kNoRoute = std::numeric_limits<int>::max();

/// How far two hosts are apart, by some key; the hosts themselves resolve ties.
using Distance = std::tuple<double, double, double, int, int>;
using Measure = std::function<Distance(int a, int b)>;

/// The route between two hosts, in its worse direction.
struct Apart {
  int channels = 0;
  double bandwidth = std::numeric_limits<double>::infinity();
  double latency_s = 0.0;
};

class Neighbours {
 public:
  explicit Neighbours(Network& network) : network_(network), count_(network.hosts.size()) {
    for (std::size_t a = 0; a < count_; ++a)
      for (std::size_t b = 0; b < count_; ++b) apart_.push_back(apart(a, b));
  }

  void find() {
    const Measure by_links = [this](int a, int b) {
      const Apart& pair = between(a, b);
      return Distance(pair.channels, -pair.bandwidth, pair.latency_s, std::min(a, b), std::max(a, b));
    };
    const Measure by_bandwidth = [this](int a, int b) {
      const Apart& pair = between(a, b);
      return Distance(-pair.bandwidth, pair.channels, pair.latency_s, std::min(a, b), std::max(a, b));
    };
    const Joints joints = spanning_tree(by_links);
    network_.orders = {chain(joints, by_links), chain(spanning_tree(by_bandwidth), by_bandwidth)};
    find_levels(joints);
  }

 private:
  using Joints = std::vector<std::pair<int, int>>;
  using Chain = std::list<int>;

  Apart apart(std::size_t a, std::size_t b) const {
    Apart worse;
    for (const std::size_t pair : {a * count_ + b, b * count_ + a}) {
      const auto& route = network_.routes[pair];
      if (!route) return {kNoRoute, 0.0, std::numeric_limits<double>::infinity()};
      worse.channels = std::max(worse.channels, static_cast<int>(route->channels.size()));
      worse.latency_s = std::max(worse.latency_s, route->latency.count());
      for (const int channel : route->channels)
        worse.bandwidth =
            std::min(worse.bandwidth, network_.channels[static_cast<std::size_t>(channel)].bandwidth.count());
    }
    return worse;
  }

  const Apart& between(int a, int b) const {
    return apart_[static_cast<std::size_t>(a) * count_ + static_cast<std::size_t>(b)];
  }

  /// Its edges, the nearest first.
  Joints spanning_tree(const Measure& measure) const {
    using Graph = boost::adjacency_matrix<boost::undirectedS, boost::no_property,
                                          boost::property<boost::edge_weight_t, Distance>>;
    Graph graph(count_);
    for (int a = 0; a < static_cast<int>(count_); ++a)
      for (int b = a + 1; b < static_cast<int>(count_); ++b)
        boost::add_edge(static_cast<std::size_t>(a), static_cast<std::size_t>(b), measure(a, b), graph);
    std::vector<boost::graph_traits<Graph>::edge_descriptor> edges;
    boost::kruskal_minimum_spanning_tree(graph, std::back_inserter(edges));
    Joints joints;
    for (const auto& edge : edges)
      joints.emplace_back(static_cast<int>(source(edge, graph)), static_cast<int>(target(edge, graph)));
    return joints;
  }

  /// Joins two chains by their nearest ends; left as they are, if that is as near.
  static void join(Chain& first, Chain& second, const Measure& measure) {
    const auto gap = [&](int a, int b) {
      const auto [x, y, z, low, high] = measure(a, b);
      return std::tuple(x, y, z);
    };
    const auto least = std::min({gap(first.back(), second.front()), gap(first.back(), second.back()),
                                 gap(first.front(), second.front()), gap(first.front(), second.back())});
    if (least < gap(first.back(), second.front())) {
      if (least == gap(first.front(), second.back())) {
        std::swap(first, second);
      } else if (least == gap(first.back(), second.back())) {
        second.reverse();
      } else {
        first.reverse();
      }
    }
    first.splice(first.end(), second);
  }

  std::vector<int> chain(const Joints& joints, const Measure& measure) const {
    std::vector<Chain> chains;
    std::vector<std::size_t> chain_of;
    for (std::size_t host = 0; host < count_; ++host) {
      chains.push_back({static_cast<int>(host)});
      chain_of.push_back(host);
    }
    for (const auto& [a, b] : joints) {
      const std::size_t one = chain_of[static_cast<std::size_t>(a)];
      const std::size_t other = chain_of[static_cast<std::size_t>(b)];
      const std::size_t first = std::min(one, other);
      const std::size_t second = std::max(one, other);
      for (const int host : chains[second]) chain_of[static_cast<std::size_t>(host)] = first;
      join(chains[first], chains[second], measure);
    }
    return {chains.front().begin(), chains.front().end()};
  }

  /// A level ends where the next joint of the tree has more links than the one before.
  void find_levels(const Joints& joints) {
    std::vector<int> group_of;
    for (std::size_t host = 0; host < count_; ++host) group_of.push_back(static_cast<int>(host));
    for (std::size_t joint = 0; joint + 1 < joints.size(); ++joint) {
      const auto [a, b] = joints[joint];
      const int kept = group_of[static_cast<std::size_t>(a)];
      const int joined = group_of[static_cast<std::size_t>(b)];
      std::replace(group_of.begin(), group_of.end(), joined, kept);
      const auto [next_a, next_b] = joints[joint + 1];
      if (between(next_a, next_b).channels > between(a, b).channels) network_.levels.push_back(group_of);
    }
  }

  Network& network_;
  std::size_t count_;
  std::vector<Apart> apart_;
};

Network::Typical slowest_of(const Topology& topology) {
  Network::Typical slowest{Seconds(0.0), BytesPerSecond(std::numeric_limits<double>::infinity())};
  for (const auto& [pair, route] : topology.routes()) {
    if (!route || pair.first == pair.second) continue;
    slowest.latency = std::max(slowest.latency, route->latency);
    for (const int channel : route->channels)
      slowest.bandwidth =
          std::min(slowest.bandwidth, topology.channels()[static_cast<std::size_t>(channel)].bandwidth);
  }
  return slowest;
}

void set_undeclared_loopback(Network& network) {
  for (std::size_t index = 0; index < network.channels.size(); ++index) {
    if (network.channels[index].name != kUndeclaredLoopback) continue;
    network.channels[index] = {kUndeclaredLoopback, undeclared_loopback_bandwidth,
                               undeclared_loopback_latency, false};
    for (auto& route : network.routes)
      if (route && route->channels == std::vector<int>{static_cast<int>(index)})
        route->latency = undeclared_loopback_latency;
  }
}

}  // namespace

Network describe_network(const Topology& topology, const std::vector<std::string>& hubs) {
  Network network;
  network.hosts = topology.hosts();
  network.channels = topology.channels();
  if (!topology.complete()) {
    network.typical = slowest_of(topology);
    const std::set<std::string> kept(hubs.begin(), hubs.end());
    const auto is_hub = [&](int host) {
      return kept.contains(network.hosts[static_cast<std::size_t>(host)]);
    };
    for (const auto& [pair, route] : topology.routes())
      if (route && (is_hub(pair.first) || is_hub(pair.second))) network.of_hubs.emplace(pair, *route);
    return network;
  }
  const int count = static_cast<int>(network.hosts.size());
  for (int from = 0; from < count; ++from)
    for (int to = 0; to < count; ++to) {
      const auto found = topology.routes().find({from, to});
      network.routes.push_back(found == topology.routes().end() ? std::nullopt : found->second);
    }
  set_undeclared_loopback(network);
  Neighbours(network).find();
  return network;
}

namespace {

/// More hosts have one partner each in a sample: its slowest route alone is used, and one with each host
/// shows its links.
constexpr std::size_t sampled_sparsely = 2048;

TopologyOptions options_for(std::vector<std::string> hosts, const std::vector<std::string>& hubs) {
  TopologyOptions options{.hosts = std::move(hosts), .to_themselves = true, .hubs = hubs};
  if (options.hosts.size() > sampled_sparsely) options.partners = 1;
  return options;
}

/// Hosts of which most are like others: two of each cluster show which links each host has of its own.
class LikeHosts {
 public:
  LikeHosts(const std::string& file, const std::vector<std::string>& hosts,
            const std::vector<std::string>& hubs)
      : hosts_(hosts), hubs_(hubs.begin(), hubs.end()) {
    const ShortClusters clusters{PlatformXml(file)};
    std::map<std::size_t, std::pair<int, int>> known;  // the first one, and how many
    for (int host = 0; host < static_cast<int>(hosts.size()); ++host) {
      const auto cluster = is_hub(host) ? std::nullopt : clusters.cluster_of(name(host));
      like_.push_back(host);
      if (!cluster) {
        asked_.push_back(host);
        continue;
      }
      auto& [first, count] = known.try_emplace(*cluster, host, 0).first->second;
      like_.back() = first;
      if (++count <= 2) asked_.push_back(host);
    }
  }

  std::vector<std::string> asked() const {
    std::vector<std::string> names;
    for (const int host : asked_) names.push_back(name(host));
    return names;
  }

  /// `topology`: of those that are asked.
  Network network(const Topology& topology) {
    Network found;
    found.hosts = hosts_;
    found.channels = topology.channels();
    found.typical = slowest_of(topology);
    std::map<std::pair<int, int>, std::vector<int>> of_second;
    for (const auto& [pair, route] : topology.routes()) {
      const int from = asked_[static_cast<std::size_t>(pair.first)];
      const int to = asked_[static_cast<std::size_t>(pair.second)];
      if (!route || from == to || (!is_hub(from) && !is_hub(to))) continue;
      const std::pair ends(like(from), like(to));
      if (ends == std::pair(from, to))
        found.of_hubs.emplace(ends, *route);
      else
        of_second.emplace(ends, route->channels);
    }
    for (const auto& [ends, route] : found.of_hubs)
      if (const auto second = of_second.find(ends); second != of_second.end())
        for (const int channel : route.channels)
          if (std::ranges::find(second->second, channel) == second->second.end())
            found.channels[static_cast<std::size_t>(channel)].of_each = true;
    found.like = std::move(like_);
    return found;
  }

 private:
  const std::string& name(int host) const { return hosts_[static_cast<std::size_t>(host)]; }
  int like(int host) const { return like_[static_cast<std::size_t>(host)]; }
  bool is_hub(int host) const { return hubs_.contains(name(host)); }

  const std::vector<std::string>& hosts_;
  std::set<std::string> hubs_;
  std::vector<int> like_, asked_;
};

}  // namespace

Network load_network(const Description& description, const std::vector<std::string>& hosts,
                     const std::vector<std::string>& hubs) {
  if (hosts.size() > sampled_sparsely) {
    LikeHosts likes(description.file, hosts, hubs);
    if (auto asked = likes.asked(); asked.size() < hosts.size())
      return likes.network(load_topology(description, options_for(std::move(asked), hubs)));
  }
  return describe_network(load_topology(description, options_for(hosts, hubs)), hubs);
}

Network load_network(const std::string& path, const std::vector<std::string>& hosts,
                     const std::vector<std::string>& hubs) {
  return load_network(load_platform(path), hosts, hubs);
}

}  // namespace tandem::platforms

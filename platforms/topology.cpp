#include "platforms/topology.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/visitors.hpp>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::platforms {
namespace {

// Larger than any sum of bandwidths, and still finite: an infinite residual minus an infinite flow is not a
// number.
constexpr double kUnlimited = 1e300;
constexpr std::size_t kSplitStarts = 16;
// Of an exact bisection: kinds of interchangeable hosts, and routes in all the flows that are computed.
constexpr std::size_t kMostKinds = 14;
constexpr std::size_t kMostRoutesInFlows = 3'000'000;
// Splits whose maximum flow is computed; two shares of bandwidth that differ by less are equal.
constexpr int kMostCuts = 32;
constexpr double kRounding = 1e-9;

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS,
    boost::property<boost::vertex_index_t, std::size_t,
                    boost::property<boost::vertex_color_t, boost::default_color_type,
                                    boost::property<boost::vertex_distance_t, double,
                                                    boost::property<boost::vertex_predecessor_t,
                                                                    Traits::edge_descriptor>>>>,
    boost::property<boost::edge_capacity_t, double,
                    boost::property<boost::edge_residual_capacity_t, double,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

void add_arc(FlowGraph& graph, std::size_t from, std::size_t to, double capacity) {
  const auto forward = boost::add_edge(from, to, graph).first;
  const auto backward = boost::add_edge(to, from, graph).first;
  put(boost::edge_capacity, graph, forward, capacity);
  put(boost::edge_capacity, graph, backward, 0.0);
  put(boost::edge_reverse, graph, forward, backward);
  put(boost::edge_reverse, graph, backward, forward);
}

}  // namespace

Topology::Topology(std::vector<std::string> hosts, std::vector<Channel> channels, Routes routes, Ask ask)
    : hosts_(std::move(hosts)),
      channels_(std::move(channels)),
      routes_(std::move(routes)),
      ask_(std::move(ask)) {
  for (std::size_t i = 0; i < hosts_.size(); ++i) host_index_[hosts_[i]] = static_cast<int>(i);
}

bool Topology::complete() const {
  std::size_t known = 0;
  for (const auto& [pair, route] : routes_) known += pair.first != pair.second ? 1 : 0;
  return known == hosts_.size() * (hosts_.size() - 1);
}

int Topology::index_of(const std::string& host) const {
  const auto found = host_index_.find(host);
  if (found != host_index_.end()) return found->second;
  const auto nearest = nearest_name(host, hosts_);
  throw ConfigError("topology: no host named '" + host + "'" +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

std::optional<Path> Topology::between(const std::string& from, const std::string& to) const {
  const Pair pair{index_of(from), index_of(to)};
  const auto known = routes_.find(pair);
  if (known == routes_.end()) {
    const auto asked = asked_.find(pair);
    if (asked != asked_.end()) return asked->second;
    return asked_[pair] = ask_ ? ask_(from, to) : std::nullopt;
  }
  if (!known->second) return std::nullopt;
  const Route& route = *known->second;
  Path path{BytesPerSecond(std::numeric_limits<double>::infinity()), route.latency, {}};
  for (const int index : route.channels) {
    const Channel& channel = channels_[static_cast<std::size_t>(index)];
    path.bandwidth = std::min(path.bandwidth, channel.bandwidth);
    path.channels.push_back(channel.name);
  }
  return path;
}

std::vector<int> Topology::fewest_channels(const std::string& from) const {
  return fewest_channels(index_of(from));
}

std::vector<int> Topology::fewest_channels(int from) const {
  // Vertices: hosts sending, hosts receiving, channels; a path over k channels has k + 1 arcs.
  const std::size_t n = hosts_.size();
  boost::adjacency_list<boost::setS, boost::vecS, boost::directedS> graph(2 * n + channels_.size());
  const auto channel_vertex = [&](int channel) { return 2 * n + static_cast<std::size_t>(channel); };
  for (const auto& [pair, route] : routes_) {
    if (!route || route->channels.empty() || pair.first == pair.second) continue;
    std::size_t last = static_cast<std::size_t>(pair.first);
    for (const int channel : route->channels) {
      boost::add_edge(last, channel_vertex(channel), graph);
      last = channel_vertex(channel);
    }
    boost::add_edge(last, n + static_cast<std::size_t>(pair.second), graph);
  }
  std::vector<int> arcs(boost::num_vertices(graph), 0);
  boost::breadth_first_search(
      graph, static_cast<std::size_t>(from),
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(arcs.data(), boost::on_tree_edge()))));
  std::vector<int> fewest(n, -1);
  for (std::size_t i = 0; i < n; ++i)
    if (arcs[n + i] > 0) fewest[i] = arcs[n + i] - 1;
  fewest[static_cast<std::size_t>(from)] = 0;
  return fewest;
}

/// Whether the network stays the same when the two hosts change places, together with the channels that only
/// their routes use. `users`: of each channel, see users_of_channels. Pre: complete().
bool Topology::interchangeable(int a, int b, const std::vector<std::vector<int>>& users) const {
  std::map<int, int> swapped;
  const auto swap = [&](int x, int y) {
    const Channel& first = channels_[static_cast<std::size_t>(x)];
    const Channel& second = channels_[static_cast<std::size_t>(y)];
    if (first.bandwidth != second.bandwidth || first.shared != second.shared) return false;
    const auto one = swapped.try_emplace(x, y).first, other = swapped.try_emplace(y, x).first;
    return one->second == y && other->second == x;
  };
  // A channel that neither host has to itself stays where it is.
  const auto stays = [&](int channel) {
    const auto& hosts = users[static_cast<std::size_t>(channel)];
    return std::find(hosts.begin(), hosts.end(), a) == hosts.end() &&
           std::find(hosts.begin(), hosts.end(), b) == hosts.end();
  };
  const auto alike = [&](const Pair& one, const Pair& other) {
    const auto& first = routes_.at(one);
    const auto& second = routes_.at(other);
    if (!first || !second) return !first && !second;
    return std::equal(first->channels.begin(), first->channels.end(), second->channels.begin(),
                      second->channels.end(),
                      [&](int x, int y) { return stays(x) || stays(y) ? x == y : swap(x, y); });
  };
  for (int c = 0; c < static_cast<int>(hosts_.size()); ++c)
    if (c != a && c != b && !(alike({a, c}, {b, c}) && alike({c, a}, {c, b}))) return false;
  return alike({a, b}, {b, a});
}

/// Of each channel the hosts that are in all pairs whose routes use it: none, one or two.
std::vector<std::vector<int>> Topology::users_of_channels() const {
  std::vector<std::vector<int>> users(channels_.size());
  std::vector<bool> is_used(channels_.size(), false);
  for (const auto& [pair, route] : routes_) {
    if (!route || pair.first == pair.second) continue;
    for (const int index : route->channels) {
      const auto channel = static_cast<std::size_t>(index);
      if (!is_used[channel])
        users[channel] = {pair.first, pair.second};
      else
        std::erase_if(users[channel], [&](int host) { return host != pair.first && host != pair.second; });
      is_used[channel] = true;
    }
  }
  return users;
}

/// The hosts in groups of interchangeable ones; empty: too many groups. Pre: complete().
std::vector<std::vector<int>> Topology::kinds_of_hosts(const std::vector<std::vector<int>>& users) const {
  std::vector<std::vector<int>> kinds;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& hosts) {
      return interchangeable(hosts.front(), host, users);
    });
    if (kind != kinds.end())
      kind->push_back(host);
    else if (kinds.size() == kMostKinds)
      return {};
    else
      kinds.push_back({host});
  }
  return kinds;
}

/// Halves of which one is a narrowest, see bisection(); empty: too many.
std::vector<std::vector<bool>> Topology::sufficient_splits() const {
  if (!complete()) return {};
  const std::size_t n = hosts_.size();
  const auto users = users_of_channels();
  const auto kinds = kinds_of_hosts(users);
  // With channels between two hosts only, a flow is not linear in the numbers of hosts.
  const bool corners_suffice =
      std::none_of(users.begin(), users.end(), [](const auto& hosts) { return hosts.size() > 1; });
  std::vector<std::vector<bool>> found;
  std::vector<bool> split(n, false);
  bool too_many = kinds.empty();
  const auto add = [&](const auto& self, std::size_t kind, std::size_t missing, bool has_part) -> void {
    if (missing == 0) {
      found.push_back(split);
      too_many = too_many || found.size() * n * (n - 1) > kMostRoutesInFlows;
    }
    if (missing == 0 || kind == kinds.size() || too_many) return;
    const auto& hosts = kinds[kind];
    const auto set = [&](std::size_t index, bool in_half) {
      split[static_cast<std::size_t>(hosts[index])] = in_half;
    };
    const std::size_t most = std::min(missing, hosts.size());
    for (std::size_t take = 0; take <= most; ++take) {
      const bool is_part = take > 0 && take < hosts.size();
      if (take > 0) set(take - 1, true);
      if (is_part && has_part && corners_suffice) continue;
      self(self, kind + 1, missing - take, has_part || is_part);
    }
    for (std::size_t index = 0; index < most; ++index) set(index, false);
  };
  if (!too_many) add(add, 0, n / 2, false);
  return too_many ? std::vector<std::vector<bool>>() : found;
}

std::vector<std::vector<bool>> Topology::some_splits() const {
  const std::size_t n = hosts_.size();
  std::vector<std::vector<bool>> found;
  const auto cut = [&](const std::vector<int>& order) {
    // With an odd number of hosts, the host in the middle may be on either side.
    for (const std::size_t size : {n / 2, n - n / 2}) {
      std::vector<bool> half(n, false);
      for (std::size_t i = 0; i < size; ++i) half[static_cast<std::size_t>(order[i])] = true;
      if (std::find(found.begin(), found.end(), half) == found.end()) found.push_back(half);
    }
  };
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  cut(order);
  if (complete()) {
    const std::size_t starts = std::min(n, kSplitStarts);
    for (std::size_t k = 0; k < starts; ++k) {
      const int start = static_cast<int>(k * n / starts);
      const auto fewest = fewest_channels(start);
      const auto distance = [&](int host) {
        const auto route = routes_.find({start, host});
        const bool known = route != routes_.end() && route->second;
        const int channels = fewest[static_cast<std::size_t>(host)];
        return std::tuple(channels < 0, channels, known ? route->second->latency : Seconds(0.0), host);
      };
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int a, int b) { return distance(a) < distance(b); });
      cut(order);
    }
  }
  return found;
}

Topology::Flow Topology::flow_across(const std::vector<bool>& half, bool from_half) const {
  const std::size_t n = hosts_.size();
  const auto in_half = static_cast<std::size_t>(std::count(half.begin(), half.end(), true));
  const double pairs_across = static_cast<double>(in_half) * static_cast<double>(n - in_half);
  // Vertices: hosts, then each channel's entry and exit, then the source and the sink of all flow.
  const std::size_t source = n + 2 * channels_.size();
  const std::size_t sink = source + 1;
  FlowGraph graph(sink + 1);
  for (std::size_t i = 0; i < n; ++i)
    half[i] == from_half ? add_arc(graph, source, i, kUnlimited) : add_arc(graph, i, sink, kUnlimited);
  const auto entry = [&](int channel) { return n + 2 * static_cast<std::size_t>(channel); };
  std::set<int> used;
  std::set<std::pair<std::size_t, std::size_t>> joined;
  for (const auto& [pair, route] : routes_) {
    const auto from = static_cast<std::size_t>(pair.first);
    const auto to = static_cast<std::size_t>(pair.second);
    if (!route || half[from] != from_half || half[to] == from_half) continue;
    if (route->channels.empty()) return {kUnlimited, {}};
    std::size_t last = from;
    for (const int channel : route->channels) {
      used.insert(channel);
      joined.insert({last, entry(channel)});
      last = entry(channel) + 1;
    }
    joined.insert({last, to});
  }
  for (const int index : used) {
    const Channel& channel = channels_[static_cast<std::size_t>(index)];
    const double flows = channel.shared ? 1.0 : pairs_across;
    add_arc(graph, entry(index), entry(index) + 1, channel.bandwidth.count() * flows);
  }
  for (const auto& [from, to] : joined) add_arc(graph, from, to, kUnlimited);
  Flow flow{boost::boykov_kolmogorov_max_flow(graph, source, sink), {}};
  // Vertices that the source still reaches are black: their border is the narrowest cut.
  const auto reached = [&](std::size_t vertex) {
    return get(boost::vertex_color, graph, vertex) == boost::black_color;
  };
  for (const int index : used)
    if (reached(entry(index)) && !reached(entry(index) + 1)) flow.cut.push_back(index);
  return flow;
}

std::optional<Bisection> Topology::bisection() const {
  if (hosts_.size() < 2) return std::nullopt;
  double least = std::numeric_limits<double>::infinity();
  std::vector<bool> narrowest;
  auto halves = sufficient_splits();
  const bool exact = !halves.empty();
  if (!exact) halves = some_splits();
  for (const auto& half : halves)
    for (const bool from_half : {true, false}) {
      const double flow = flow_across(half, from_half).bandwidth;
      if (!narrowest.empty() && flow >= least) continue;
      least = flow;
      narrowest = half;
    }
  if (least >= kUnlimited) least = std::numeric_limits<double>::infinity();
  Bisection result{BytesPerSecond(least), {}, exact};
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (narrowest[i]) result.half.push_back(hosts_[i]);
  return result;
}

std::vector<Topology::Split> Topology::dividing_splits() const {
  const std::size_t n = hosts_.size();
  std::vector<std::size_t> known(n, 0);
  for (const auto& [pair, route] : routes_)
    if (pair.first != pair.second) ++known[static_cast<std::size_t>(pair.first)];
  // The hosts behind each channel, seen from the first host that knows all its routes and uses the channel;
  // those that this host cannot reach are behind channel -1.
  std::map<int, std::pair<int, std::vector<int>>> behind;
  for (const auto& [pair, route] : routes_) {
    if (pair.first == pair.second || known[static_cast<std::size_t>(pair.first)] + 1 != n) continue;
    const std::vector<int> nowhere{-1};
    for (const int channel : route ? route->channels : nowhere) {
      auto& [seen_from, hosts] = behind.try_emplace(channel, pair.first, std::vector<int>()).first->second;
      if (seen_from == pair.first) hosts.push_back(pair.second);
    }
  }
  std::vector<Split> splits;
  for (const auto& [index, view] : behind) {
    const bool no_route = index < 0;
    if (!no_route && !channels_[static_cast<std::size_t>(index)].shared) continue;
    Split split{std::vector<bool>(n, true), 0.0, std::min(view.second.size(), n - view.second.size())};
    for (const int host : view.second) split.from[static_cast<std::size_t>(host)] = false;
    if (!no_route)
      split.share =
          channels_[static_cast<std::size_t>(index)].bandwidth.count() / static_cast<double>(split.smaller);
    splits.push_back(std::move(split));
  }
  std::stable_sort(splits.begin(), splits.end(), [](const Split& a, const Split& b) {
    return std::pair(a.share, b.smaller) < std::pair(b.share, a.smaller);
  });
  return splits;
}

std::optional<Cut> Topology::narrowest_cut() const {
  if (hosts_.size() < 2) return std::nullopt;
  std::optional<Cut> cut;
  double least = std::numeric_limits<double>::infinity();
  int tried = 0;
  for (const Split& split : dividing_splits()) {
    if (cut && split.share >= least * (1.0 - kRounding)) {
      if (split.share <= least * (1.0 + kRounding)) ++cut->as_narrow;
      continue;
    }
    if (++tried > kMostCuts) break;
    const Flow flow = flow_across(split.from, true);
    const double share = flow.bandwidth / static_cast<double>(split.smaller);
    if (flow.bandwidth >= kUnlimited || share >= least) continue;
    least = share;
    cut = Cut{BytesPerSecond(flow.bandwidth), {}, {}, {}, 0};
    for (const int channel : flow.cut)
      cut->channels.push_back(channels_[static_cast<std::size_t>(channel)].name);
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      (split.from[i] ? cut->from : cut->to).push_back(hosts_[i]);
  }
  return cut;
}

}  // namespace tandem::platforms

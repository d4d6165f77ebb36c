#include "workloads/priced/fluid_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::priced {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
/// Bytes that are left by rounding.
constexpr double nothing = 1e-6;

double bytes_of(Bytes size) { return static_cast<double>(size.count()); }

/// The message of a connection that is on its way, or is the next one.
struct Head {
  std::size_t message = 0;
  double left = 0.0;      ///< bytes
  double starts_s = 0.0;  ///< to move
};

}  // namespace

FluidNetwork::FluidNetwork(const platforms::Network& network) : network_(network) {
  numbers_.reserve(network.hosts.size());
  for (const std::string& host : network.hosts) numbers_.try_emplace(host, numbers_.size());
}

std::size_t FluidNetwork::like(const std::string& host) const {
  const auto found = numbers_.find(host);
  TANDEM_CHECK(found != numbers_.end(), host);
  return network_.like.empty() ? found->second : static_cast<std::size_t>(network_.like[found->second]);
}

FluidNetwork::Path FluidNetwork::path(const Connection& connection) const {
  const std::size_t from = like(connection.from), to = like(connection.to);
  const platforms::Route* route = nullptr;
  if (network_.routes.empty()) {
    const auto known = network_.of_hubs.find({static_cast<int>(from), static_cast<int>(to)});
    if (known == network_.of_hubs.end())
      return {network_.typical.latency, {}, network_.typical.bandwidth.count(), connection.count};
    route = &known->second;
  } else if (const auto& stated = network_.routes[from * network_.hosts.size() + to]) {
    route = &*stated;
  }
  if (route == nullptr)
    throw ConfigError("the platform has no route from '" + connection.from + "' to '" + connection.to + "'");
  Path found{route->latency, {}, never, connection.count};
  for (const int index : route->channels) {
    const auto number = static_cast<std::size_t>(index);
    const platforms::Channel& crossed = channel(number);
    if (crossed.shared)
      found.channels.push_back(crossed.of_each ? connection.group * network_.channels.size() + number
                                               : number);
    else
      found.most = std::min(found.most, crossed.bandwidth.count());
  }
  return found;
}

/// Progressive filling: the channel, or the path, that allows the least share decides the rates of those that
/// cross it, and what they leave is divided among the others.
std::vector<double> FluidNetwork::rates(const std::vector<Path>& paths,
                                        const std::vector<std::size_t>& open) const {
  struct Load {
    double left = 0.0;         ///< of the channel's rate
    double connections = 0.0;  ///< without a rate yet
    int waiting = 0;           ///< paths of these: what rounding leaves of connections is none
  };
  std::size_t numbers = network_.channels.size();
  for (const std::size_t of : open)
    for (const std::size_t number : paths[of].channels) numbers = std::max(numbers, number + 1);
  std::vector<Load> loads(numbers);
  std::vector<std::size_t> used;
  for (const std::size_t of : open)
    for (const std::size_t number : paths[of].channels) {
      Load& load = loads[number];
      if (load.waiting++ == 0) used.push_back(number);
      load.left = channel(number).bandwidth.count();
      load.connections += crossing(paths[of], number);
    }
  std::vector<double> found(paths.size(), 0.0);
  std::vector<std::size_t> waiting = open;
  while (!waiting.empty()) {
    double least = never;
    for (const std::size_t number : used)
      if (const Load& load = loads[number]; load.connections > 0)
        least = std::min(least, load.left / load.connections);
    for (const std::size_t of : waiting) least = std::min(least, paths[of].most);
    const auto is_limited = [&](std::size_t of) {
      constexpr double equal = 1 + 1e-9;
      return paths[of].most <= least * equal ||
             std::ranges::any_of(paths[of].channels, [&](std::size_t number) {
               return loads[number].left / loads[number].connections <= least * equal;
             });
    };
    std::vector<std::size_t> limited, others;
    for (const std::size_t of : waiting) (is_limited(of) ? limited : others).push_back(of);
    for (const std::size_t of : limited) {
      found[of] = least;
      for (const std::size_t number : paths[of].channels) {
        Load& load = loads[number];
        const double crossing_it = crossing(paths[of], number);
        load.left = std::max(0.0, load.left - found[of] * crossing_it);
        load.connections -= crossing_it;
        --load.waiting;
      }
    }
    std::erase_if(used, [&](std::size_t number) { return loads[number].waiting == 0; });
    waiting = std::move(others);
  }
  return found;
}

std::vector<std::vector<Seconds>> FluidNetwork::arrivals(const std::vector<Connection>& connections) const {
  std::vector<Path> paths;
  std::vector<Head> heads(connections.size());
  std::vector<std::vector<Seconds>> ends(connections.size());
  const auto begin_next = [&](std::size_t of, double now_s) {
    Head& head = heads[of];
    const auto& messages = connections[of].messages;
    if (head.message == messages.size()) return;
    head.left = bytes_of(messages[head.message].size);
    head.starts_s = std::max(now_s, messages[head.message].ready.count() + paths[of].latency.count());
  };
  double now_s = 0.0;
  for (std::size_t of = 0; of < connections.size(); ++of) {
    paths.push_back(path(connections[of]));
    begin_next(of, 0.0);
  }
  while (true) {
    std::vector<std::size_t> open;
    double next_s = never;
    for (std::size_t of = 0; of < connections.size(); ++of) {
      if (heads[of].message == connections[of].messages.size()) continue;
      if (heads[of].starts_s <= now_s)
        open.push_back(of);
      else
        next_s = std::min(next_s, heads[of].starts_s);
    }
    if (open.empty() && next_s == never) return ends;
    const auto rate = rates(paths, open);
    for (const std::size_t of : open) next_s = std::min(next_s, now_s + heads[of].left / rate[of]);
    for (const std::size_t of : open) {
      heads[of].left -= rate[of] * (next_s - now_s);
      if (heads[of].left > std::max(nothing, 1e-9 * rate[of])) continue;
      ends[of].emplace_back(next_s);
      ++heads[of].message;
      begin_next(of, next_s);
    }
    now_s = next_s;
  }
}

std::pair<Seconds, std::string> FluidNetwork::busiest(const std::vector<Connection>& connections,
                                                      bool common) const {
  struct Load {
    double time_s = 0.0;
    const Connection* first = nullptr;
    bool is_common = false;  ///< others than those between the first one's hosts cross it
  };
  const auto has_same_ends = [this](const Connection& one, const Connection& other) {
    const auto ends = [this](const Connection& of) { return std::minmax({like(of.from), like(of.to)}); };
    return one.group == other.group && ends(one) == ends(other);
  };
  std::map<std::size_t, Load> loads;
  for (const Connection& connection : connections) {
    const Path crossed = path(connection);
    for (const std::size_t number : crossed.channels) {
      Load& load = loads[number];
      if (load.first == nullptr) load.first = &connection;
      const double connections_on_it = crossing(crossed, number);
      load.is_common = load.is_common || connections_on_it > 1.0 || !has_same_ends(connection, *load.first);
      for (const auto& message : connection.messages)
        load.time_s += connections_on_it * bytes_of(message.size) / channel(number).bandwidth.count();
    }
  }
  if (common) std::erase_if(loads, [](const auto& of) { return !of.second.is_common; });
  const auto most = std::ranges::max_element(loads, {}, [](const auto& load) { return load.second.time_s; });
  if (most == loads.end()) return {Seconds(0.0), ""};
  return {Seconds(most->second.time_s), channel(most->first).name};
}

}  // namespace tandem::priced

#include "runtime/cluster/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "policies/vocabulary/check.hpp"

namespace tandem::cluster {
namespace {

// A packet passes a shaper as a whole, so this much of a message arrives early. Shorter packets need more CPU
// time: with 100 us, a ring of four hosts at 30 MB/s was limited by two cores, not by its links.
constexpr Seconds packet_time{250e-6};
constexpr int most_segments = 43;        // in a packet of 64 KiB
constexpr Seconds kernel_latency{1e-3};  // upper estimate of the latency of the devices, without queues
constexpr double least_buffer_bytes = 512 * 1024;
constexpr double most_buffer_bytes = 16 * 1024 * 1024;
// HTB takes rates as 64-bit bytes per second, but its clock is too coarse above this.
constexpr double most_bandwidth = 1e11;
constexpr double least_bandwidth = 1e3;

constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr const char* harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

bool can_be_host_name(const std::string& name) {
  return !name.empty() && name.size() <= 63 && std::string(letters).find(name[0]) != std::string::npos &&
         name.find_first_not_of(harmless) == std::string::npos && name != fabric_name && name != "localhost";
}

int segments_at(BytesPerSecond rate) {
  const double segments = std::floor(rate.count() * packet_time.count() / frame_payload_bytes);
  return static_cast<int>(std::clamp(segments, 1.0, static_cast<double>(most_segments)));
}

void check_wiring(const Wiring& wiring) {
  const auto count = wiring.hosts.size();
  if (count < 2) throw ConfigError(fmt::format("cluster: expected two hosts or more, found {}", count));
  if (count > most_hosts)
    throw ConfigError(fmt::format("cluster: {} hosts; one machine emulates at most {}", count, most_hosts));
  for (const auto& [pair, route] : wiring.routes) {
    std::set<int> seen;
    for (const int index : route.channels) {
      const Channel& channel = wiring.channels.at(static_cast<std::size_t>(index));
      const double rate = channel.bandwidth.count();
      if (!(rate >= least_bandwidth && rate <= most_bandwidth))
        throw ConfigError(fmt::format("link '{}': {} B/s cannot be emulated, only {} to {}", channel.name,
                                      rate, least_bandwidth, most_bandwidth));
      if (!seen.insert(index).second)
        throw ConfigError(
            fmt::format("route from '{}' to '{}': takes link '{}' twice, which cannot be emulated",
                        wiring.hosts[static_cast<std::size_t>(pair.first)],
                        wiring.hosts[static_cast<std::size_t>(pair.second)], channel.name));
    }
  }
}

BytesPerSecond bottleneck(const Wiring& wiring, const Route& route) {
  BytesPerSecond least(most_bandwidth);
  for (const int channel : route.channels)
    least = std::min(least, wiring.channels[static_cast<std::size_t>(channel)].bandwidth);
  return least;
}

std::vector<PlanHost> plan_hosts(const Wiring& wiring) {
  std::vector<PlanHost> hosts;
  for (std::size_t k = 0; k < wiring.hosts.size(); ++k) {
    const auto& name = wiring.hosts[k];
    hosts.push_back({name, can_be_host_name(name) ? name : fmt::format("host-{}", k),
                     fmt::format("10.77.0.{}", k + 1), fmt::format("10.78.0.{}", k + 1), 1});
  }
  // The file itself may name a host "host-3".
  std::set<std::string> taken;
  for (const auto& host : hosts)
    if (!taken.insert(host.alias).second)
      throw ConfigError(fmt::format("host '{}': its name is also the alias of another host", host.name));
  for (const auto& [pair, route] : wiring.routes) {
    auto& segments = hosts[static_cast<std::size_t>(pair.first)].segments;
    segments = std::max(segments, segments_at(bottleneck(wiring, route)));
  }
  return hosts;
}

std::vector<Shaper> plan_shapers(const Wiring& wiring, const std::vector<PlanHost>& hosts, bool delays) {
  std::map<int, Shaper> shapers;
  for (const auto& [pair, route] : wiring.routes)
    for (const int channel : route.channels) {
      const auto& figures = wiring.channels[static_cast<std::size_t>(channel)];
      auto& shaper = shapers.try_emplace(channel, Shaper{channel, false, segments_at(figures.bandwidth), {}})
                         .first->second;
      shaper.pairs.push_back(pair);
      const bool cuts = hosts[static_cast<std::size_t>(pair.first)].segments > shaper.segments;
      shaper.front = shaper.front || cuts || (delays && figures.latency > Seconds(0.0));
    }
  std::vector<Shaper> list;
  for (auto& [channel, shaper] : shapers) list.push_back(std::move(shaper));
  return list;
}

/// By device of arrival and destination: for each sender, the device through which its packets leave.
using Departures = std::map<std::pair<std::string, int>, std::map<int, std::string>>;

Departures departures(const Wiring& wiring, const std::vector<Shaper>& shapers) {
  std::map<int, std::size_t> shaper_of;
  for (std::size_t i = 0; i < shapers.size(); ++i) shaper_of[shapers[i].channel] = i;
  Departures found;
  for (const auto& [pair, route] : wiring.routes) {
    const auto [from, to] = pair;
    std::string arrival = fmt::format("h{}", from);
    const auto turn = [&, sender = from, receiver = to](std::string departure, std::string next) {
      found[{arrival, receiver}][sender] = std::move(departure);
      arrival = std::move(next);
    };
    for (const int channel : route.channels) {
      const std::size_t i = shaper_of.at(channel);
      if (shapers[i].front) turn(fmt::format("s{}", i), fmt::format("t{}", i));
      turn(fmt::format("a{}", i), fmt::format("b{}", i));
    }
    turn(fmt::format("h{}", to), "");
  }
  return found;
}

std::vector<Turn> plan_turns(const Departures& departures) {
  std::vector<Turn> turns;
  for (const auto& [key, by_sender] : departures) {
    const auto& [arrival, to] = key;
    std::map<std::string, int> votes;
    for (const auto& [from, departure] : by_sender) ++votes[departure];
    const auto usual = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->first;
    turns.push_back({arrival, -1, to, usual});
    for (const auto& [from, departure] : by_sender)
      if (departure != usual) turns.push_back({arrival, from, to, departure});
  }
  return turns;
}

Bytes socket_buffer(const Wiring& wiring, bool delays) {
  double most = least_buffer_bytes;
  for (const auto& [pair, route] : wiring.routes) {
    const Seconds round_trip = kernel_latency + (delays ? route.latency * 2.0 : Seconds(0.0));
    most = std::max(most, 2.0 * bottleneck(wiring, route).count() * round_trip.count());
  }
  return Bytes(static_cast<std::int64_t>(std::min(most, most_buffer_bytes)));
}

}  // namespace

std::string cluster_id(const std::string& platform_path) {
  std::string id = std::filesystem::path(platform_path).stem().string();
  // No dot, because a dot separates the id in the name of a namespace.
  for (char& letter : id)
    if (std::string(harmless).find(letter) == std::string::npos || letter == '.') letter = '_';
  return id.empty() ? "cluster" : id.substr(0, 100);
}

std::string namespace_of(const std::string& id, const std::string& alias) {
  return fmt::format("tandem.{}.{}", id, alias);
}

Plan make_plan(const std::string& id, const Wiring& wiring, bool delays) {
  check_wiring(wiring);
  auto hosts = plan_hosts(wiring);
  auto shapers = plan_shapers(wiring, hosts, delays);
  auto turns = plan_turns(departures(wiring, shapers));
  return {id,
          std::move(hosts),
          wiring.channels,
          std::move(shapers),
          std::move(turns),
          socket_buffer(wiring, delays),
          delays};
}

}  // namespace tandem::cluster

// The network between some hosts as plain data: the links that messages cross and share, and which hosts are
// near each other.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::platforms {

/// Carries bytes: one direction of a SPLITDUPLEX link ("cable_UP"), or a whole link otherwise, whose capacity
/// both directions share.
struct Channel {
  std::string name;
  BytesPerSecond bandwidth;
  Seconds latency;
  bool shared;  ///< false for FATPIPE: every flow gets the whole bandwidth
  /// The hosts that are like its host (Network::like) have one of their own each.
  bool of_each = false;
};

/// The link of a channel: "cable" of "cable_UP" and "cable_DOWN".
inline std::string link_of(const std::string& channel) {
  for (const std::string_view direction : {"_UP", "_DOWN"})
    if (channel.ends_with(direction)) return channel.substr(0, channel.size() - direction.size());
  return channel;
}

/// The route from one host to another in SimGrid.
struct Route {
  std::vector<int> channels;  ///< indices into the list of channels, in order
  Seconds latency;            ///< SimGrid's value: of the channels, and of coordinates in a Vivaldi zone
};

struct Network {
  std::vector<std::string> hosts;
  std::vector<Channel> channels;
  /// hosts x hosts, also from a host to itself; absent where there is no route. Empty when only a sample of
  /// routes is known: then `typical` is used for every pair that `of_hubs` does not have.
  std::vector<std::optional<Route>> routes;
  /// By host indices, from and to: those of hubs that were asked for, where only a sample is known.
  std::map<std::pair<int, int>, Route> of_hubs = {};
  /// By host: the host that it may replace, with `of_each` channels of its own: all of a large cluster
  /// but for hubs have the routes of one. Empty: each has its own routes.
  std::vector<int> like = {};
  /// Slowest of the sampled routes.
  struct Typical {
    Seconds latency{0.0};
    BytesPerSecond bandwidth{0.0};
  } typical = {};
  /// Host indices, ordered so that near hosts are adjacent: one order by links on the route, one by
  /// bandwidth.
  std::vector<std::vector<int>> orders;
  /// Groups of hosts, from racks to halves of the network: each level gives each host the number of its
  /// group, and later levels have larger groups. A single group of all hosts, or groups of one host, are not
  /// levels.
  std::vector<std::vector<int>> levels;

  /// False until a platform has been loaded.
  bool known() const { return !hosts.empty(); }
};

}  // namespace tandem::platforms

// The network between some hosts as plain data: what messages cross and share, and which hosts are near each
// other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::platforms {

/// What carries bytes in one direction: a half of a SPLITDUPLEX link ("cable_UP"), or a whole link otherwise,
/// whose capacity both directions share.
struct Channel {
  std::string name;
  BytesPerSecond bandwidth;
  Seconds latency;
  bool shared;  ///< false for FATPIPE: every flow gets the whole bandwidth
};

/// The way from one host to another, as SimGrid takes it.
struct Route {
  std::vector<int> channels;  ///< indices into the list of channels, in order
  Seconds latency;  ///< SimGrid's figure: that of the channels, and of coordinates in a Vivaldi zone
};

struct Network {
  std::vector<std::string> hosts;
  std::vector<Channel> channels;
  /// hosts x hosts, from one to another and to itself; absent where there is none. Empty when only a sample
  /// is known: then `typical` stands for all.
  std::vector<std::optional<Route>> routes;
  /// Slowest of the sampled routes.
  struct Typical {
    Seconds latency{0.0};
    BytesPerSecond bandwidth{0.0};
  } typical = {};
  /// The hosts by index, so ordered that near ones stand side by side: one order by links on the way, one by
  /// bandwidth.
  std::vector<std::vector<int>> orders;
  /// Groups of hosts with ever more links between them, from racks to halves of the network: each level gives
  /// each host the number of its group. Neither one group of all nor groups of one are levels.
  std::vector<std::vector<int>> levels;

  /// False before a platform was asked.
  bool known() const { return !hosts.empty(); }
};

}  // namespace tandem::platforms

// What an emulated cluster is made from: hosts, channels, and the channels that each pair's messages take, in
// order. Plain data, so that the runtime needs neither SimGrid nor Boost.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::cluster {

/// From host, to host: indices into Wiring::hosts.
using Pair = std::pair<int, int>;

/// What carries bytes in one direction (half of a split-duplex link), or in both together (a shared one).
struct Channel {
  std::string name;
  BytesPerSecond bandwidth;  ///< of payload
  Seconds latency;
  bool shared;  ///< false: every flow gets the whole bandwidth
  bool operator==(const Channel&) const = default;
};

struct Route {
  std::vector<int> channels;  ///< in order
  Seconds latency;
  bool operator==(const Route&) const = default;
};

struct Wiring {
  std::vector<std::string> hosts;
  std::vector<Channel> channels;
  std::map<Pair, Route> routes;  ///< pairs without one cannot speak
  bool operator==(const Wiring&) const = default;
};

nlohmann::json to_json(const Wiring& wiring);
/// Inverse of to_json. Errors: nlohmann::json::exception.
Wiring wiring_from_json(const nlohmann::json& document);

/// The rates that flows running at once get, max-min fair over the shared channels, as SimGrid shares them.
/// A pair may occur several times; without any channel on its way a flow's rate is infinite.
/// Pre: every pair has a route.
std::vector<BytesPerSecond> max_min_rates(const Wiring& wiring, const std::vector<Pair>& flows);

}  // namespace tandem::cluster

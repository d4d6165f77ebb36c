// The network that an emulated cluster reproduces: hosts, channels, and for each pair of hosts the channels
// of its route in order. Plain data, so that the runtime needs neither SimGrid nor Boost.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::cluster {

/// From host, to host: indices into Wiring::hosts.
using Pair = std::pair<int, int>;

/// Carries bytes in one direction (half of a split-duplex link), or in both directions together (a shared
/// link).
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
  std::map<Pair, Route> routes;  ///< pairs without a route cannot communicate
  bool operator==(const Wiring&) const = default;
};

nlohmann::json to_json(const Wiring& wiring);
/// Inverse of to_json. Errors: nlohmann::json::exception.
Wiring wiring_from_json(const nlohmann::json& document);

/// The rates of concurrent flows, max-min fair over the shared channels, as in simulations. A pair may occur
/// several times; a flow whose route has no channel has an infinite rate. Pre: every pair has a route.
std::vector<BytesPerSecond> max_min_rates(const Wiring& wiring, const std::vector<Pair>& flows);

}  // namespace tandem::cluster

// The network for the estimate of an all-reduce's time (its price): the channels that messages between
// participants cross and share.
#pragma once

#include <functional>
#include <vector>

#include "policies/collectives/schedule.hpp"

namespace tandem::collectives {

/// Each participant is at a host; several participants may be at one host.
struct Network {
  struct Channel {
    double seconds_per_byte = 0.0;
    bool shared = true;  ///< false: every message has the full rate
  };
  struct Route {
    Seconds latency{0.0};
    std::vector<int> channels = {};  ///< indices into `channels`
  };
  std::vector<Channel> channels;
  std::vector<int> host_of;  ///< by participant
  int hosts = 0;
  std::vector<Route> routes;  ///< hosts x hosts, including from a host to itself

  const Route& route(int from, int to) const {
    const auto host = [this](int participant) {
      return static_cast<std::size_t>(host_of[static_cast<std::size_t>(participant)]);
    };
    return routes[host(from) * static_cast<std::size_t>(hosts) + host(to)];
  }
};

/// At most `most` orders of the participants. The rings of these orders use different shared channels (a
/// ring goes from each participant to the next, and from the last to the first). The search is limited, so
/// there may be more. Empty if there is none: on a star of several participants, one ring needs every cable.
std::vector<std::vector<int>> disjoint_rings(const Network& network, int most);

/// The time that a participant takes to reduce `size` bytes.
using ReduceTime = std::function<Seconds(int participant, Bytes size)>;

/// Price of the schedules of all participants on a network whose channels are shared: a message starts when
/// both its ends are in the round. It takes the latency of its route, plus the time that the slowest channel
/// of the route needs for all messages of that round that cross it. A participant reduces one piece after the
/// other. Exact if all participants run in step, and then equal to the closed form on a uniform network.
/// Messages of different rounds are assumed not to share a channel, so where some participants are a round
/// ahead of others, the price may be up to a fifth too low.
Seconds price(const std::vector<Schedule>& schedules, Bytes element_size, const Network& network,
              const ReduceTime& reduce);

}  // namespace tandem::collectives

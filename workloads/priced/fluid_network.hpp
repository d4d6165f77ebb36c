// Messages as a fluid in the channels of a network: what several of them take together, without a simulator.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "platforms/description_network.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::priced {

/// Messages from one rank to another, which arrive in order.
struct Connection {
  struct Message {
    Seconds ready;  ///< when it may start
    Bytes size;
  };
  std::string from, to;  ///< hosts
  std::vector<Message> messages;
  int count = 1;  ///< connections like it: of as many hosts that are like each other, with the same messages
  /// Of these hosts: connections of another group are of other hosts, which have channels of their own
  /// (Channel::of_each).
  std::size_t group = 0;
};

class FluidNetwork {
 public:
  /// `network` must outlive it.
  explicit FluidNetwork(const platforms::Network& network);

  /// The host that this one may replace (Network::like). Pre: the network has it.
  std::size_t like(const std::string& host) const;
  /// When each message of each connection arrives. Connections share channels max-min fairly, as in
  /// simulations. A message that waits for the one before it has its latency behind it. Pre: the network has
  /// the hosts. Errors: ConfigError where it has no route.
  std::vector<std::vector<Seconds>> arrivals(const std::vector<Connection>& connections) const;
  /// The time in which the busiest channel carries all of these, and its name. `common`: of those channels
  /// that connections of several hosts to or from the others cross.
  std::pair<Seconds, std::string> busiest(const std::vector<Connection>& connections,
                                          bool common = false) const;

 private:
  struct Path {
    Seconds latency;
    std::vector<std::size_t> channels;  ///< see channel()
    double most = 0.0;                  ///< bytes per second, by channels that are not shared
    int count = 1;                      ///< of such paths
  };
  /// The numbers of channels of one group follow those of the group before.
  const platforms::Channel& channel(std::size_t number) const {
    return network_.channels[number % network_.channels.size()];
  }
  /// How many of these paths cross the channel, one of theirs.
  double crossing(const Path& path, std::size_t number) const {
    return channel(number).of_each ? 1.0 : path.count;
  }
  Path path(const Connection& connection) const;
  std::vector<double> rates(const std::vector<Path>& paths, const std::vector<std::size_t>& open) const;

  const platforms::Network& network_;
  std::unordered_map<std::string_view, std::size_t> numbers_;  ///< of hosts
};

}  // namespace tandem::priced

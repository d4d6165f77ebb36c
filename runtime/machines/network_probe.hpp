// Sends small datagrams between the machines of a job in the network of its messages. The machines may be
// watched through another network.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/machines/guard_messages.hpp"
#include "runtime/process/descriptor.hpp"

namespace tandem::machines {

/// Not thread-safe.
class NetworkProbe {
 public:
  /// `address`: of this machine, IPv4. `key`: of the job; datagrams of others are ignored. Errors:
  /// WorldError.
  NetworkProbe(const std::string& address, std::string key);

  int port() const { return port_; }
  /// To poll for input.
  int descriptor() const { return socket_.number(); }
  /// The machines to which datagrams are sent. Once one of them has sent a datagram, more are expected.
  void set_peers(std::vector<Peer> peers) { peers_ = std::move(peers); }
  /// Sends to all peers. Does not block.
  void send_all() const;
  void read_available();
  /// Peers whose datagrams have arrived, the last longer ago than `limit`.
  std::vector<std::string> silent(Seconds limit) const;

 private:
  using Clock = std::chrono::steady_clock;
  Descriptor socket_;
  std::string key_;
  int port_ = 0;
  std::vector<Peer> peers_;
  std::map<std::pair<std::string, int>, Clock::time_point> last_message_;  ///< by address and port
};

/// Which machines a network separates, from all pairs (one that listens, one that is silent): the machine of
/// most pairs, then those that it does not reach. Pre: there is a pair.
std::vector<std::string> separated(const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace tandem::machines

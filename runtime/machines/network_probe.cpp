#include "runtime/machines/network_probe.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::machines {
namespace {

sockaddr_in name_of(const std::string& address, int port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1)
    throw WorldError("no address of IPv4: " + address);
  return name;
}

}  // namespace

NetworkProbe::NetworkProbe(const std::string& address, std::string key)
    : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), key_(std::move(key)) {
  sockaddr_in name = name_of(address, 0);
  socklen_t size = sizeof(name);
  if (!socket_.is_open() || bind(socket_.number(), reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&name), &size) != 0)
    throw WorldError(fmt::format("cannot probe the network from {}: {}", address, std::strerror(errno)));
  port_ = ntohs(name.sin_port);
}

void NetworkProbe::send_all() const {
  for (const auto& peer : peers_) {
    const sockaddr_in to = name_of(peer.address, peer.port);
    // What cannot be sent, the peer misses.
    static_cast<void>(sendto(socket_.number(), key_.data(), key_.size(), 0,
                             reinterpret_cast<const sockaddr*>(&to), sizeof(to)));
  }
}

void NetworkProbe::read_available() {
  for (;;) {
    std::array<char, 256> bytes{};
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    const ssize_t count =
        recvfrom(socket_.number(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    // Errors of earlier sends are reported here, too.
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) continue;
    if (count < 0) return;
    if (std::string(bytes.data(), static_cast<std::size_t>(count)) != key_) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    inet_ntop(AF_INET, &from.sin_addr, text.data(), text.size());
    last_message_[{text.data(), ntohs(from.sin_port)}] = Clock::now();
  }
}

std::vector<std::string> NetworkProbe::silent(Seconds limit) const {
  std::vector<std::string> all;
  for (const auto& peer : peers_) {
    const auto last = last_message_.find({peer.address, peer.port});
    // A firewall may keep datagrams away from the first on.
    if (last != last_message_.end() &&
        Clock::now() - last->second > std::chrono::duration<double>(limit.count()))
      all.push_back(peer.machine);
  }
  return all;
}

std::vector<std::string> separated(const std::vector<std::pair<std::string, std::string>>& pairs) {
  TANDEM_CHECK(!pairs.empty(), "no pair", 0);
  std::map<std::string, std::set<std::string>> unreached;
  for (const auto& [listener, silent] : pairs) {
    unreached[listener].insert(silent);
    unreached[silent].insert(listener);
  }
  // If two machines miss only each other, the silent one counts as separated.
  const auto* worst = &*unreached.find(pairs.front().second);
  for (const auto& one : unreached)
    if (one.second.size() > worst->second.size()) worst = &one;
  std::vector<std::string> all = {worst->first};
  all.insert(all.end(), worst->second.begin(), worst->second.end());
  return all;
}

}  // namespace tandem::machines

#include "runtime/machines/rank_watch.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/rank_lines.hpp"
#include "runtime/process/process_list.hpp"

namespace tandem::machines {
namespace {

/// The message of a rank after its number.
constexpr std::int32_t has_finished = -1, has_failed = -2;

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
};

/// Without a file: the kernel removes it with the process that listens. `mark`: "NAME=VALUE".
Address address_of(const std::string& mark) {
  const std::string text = "tandem-watch." + mark.substr(mark.find('=') + 1);
  Address address;
  address.name.sun_family = AF_UNIX;
  TANDEM_CHECK(text.size() + 1 < sizeof(address.name.sun_path), "mark", text.size());
  std::memcpy(address.name.sun_path + 1, text.data(), text.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

const sockaddr* generic(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.name); }

Descriptor make_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// The process at the other end; none: of another user.
std::optional<pid_t> process_of(int connection) {
  ucred other{};
  socklen_t size = sizeof(other);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0 || other.uid != geteuid())
    return std::nullopt;
  return other.pid;
}

RankEnd end_of(Rank rank, pid_t process) {
  const auto status = process > 0 ? status_of_ending(process) : std::nullopt;
  if (!status) return {rank, RankEnd::How::unknown, 0};
  if (status->signal != 0) return {rank, RankEnd::How::signal, status->signal};
  return {rank, RankEnd::How::exited, status->code};
}

}  // namespace

RankWatch::RankWatch(const std::string& mark) : listener_(make_socket()) {
  const Address address = address_of(mark);
  constexpr int most_waiting = 1024;
  if (!listener_.is_open() || bind(listener_.number(), generic(address), address.length) != 0 ||
      listen(listener_.number(), most_waiting) != 0)
    listener_.close();
}

std::vector<int> RankWatch::descriptors() const {
  std::vector<int> all;
  if (listener_.is_open()) all.push_back(listener_.number());
  for (const auto& one : connected_) all.push_back(one.connection.number());
  return all;
}

void RankWatch::accept_all() {
  while (listener_.is_open()) {
    Descriptor connection(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.is_open()) return;
    if (const auto process = process_of(connection.number()))
      connected_.push_back({.connection = std::move(connection), .process = *process});
  }
}

bool RankWatch::read_from(Connected& one) {
  std::int32_t said = 0;
  for (;;) {
    const ssize_t count = recv(one.connection.number(), &said, sizeof(said), 0);
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (count != sizeof(said)) return false;
    if (said >= 0) {
      one.rank = said;
    } else if (!one.is_ending) {
      one.is_ending = true;
      const auto how = said == has_failed ? RankEnd::How::failed : RankEnd::How::finished;
      ends_.push_back({{one.rank, how, 0}, std::chrono::steady_clock::now()});
    }
  }
}

void RankWatch::read_available() {
  accept_all();
  std::erase_if(connected_, [this](Connected& one) {
    if (read_from(one)) return false;
    if (one.rank >= 0 && !one.is_ending)
      ends_.push_back({end_of(one.rank, one.process), std::chrono::steady_clock::now()});
    return true;
  });
}

void RankRegistration::connect_as(Rank rank) {
  const char* const mark = std::getenv(launch_variable);
  if (mark == nullptr || is_connected()) return;
  const Address address = address_of(mark);
  Descriptor connection = make_socket();
  if (!connection.is_open() || connect(connection.number(), generic(address), address.length) != 0) return;
  const std::int32_t said = rank;
  if (send(connection.number(), &said, sizeof(said), MSG_NOSIGNAL) == sizeof(said))
    connection_ = std::move(connection);
}

void RankRegistration::announce_end(bool failed) {
  if (!is_connected()) return;
  const std::int32_t said = failed ? has_failed : has_finished;
  // A watch that has ended needs no announcement.
  static_cast<void>(send(connection_.number(), &said, sizeof(said), MSG_NOSIGNAL));
}

}  // namespace tandem::machines

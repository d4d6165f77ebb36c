#include "workloads/membership/occupant_context.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

OccupantContext::OccupantContext(Context& inner, StewardLine& steward, const protocol::Occupancy& occupancy,
                                 CacheNodeStanding* node)
    : ContextDecorator(inner),
      steward_(steward),
      node_(node),
      incarnation_(occupancy.incarnation),
      is_peer_(static_cast<std::size_t>(inner.world_size()), false) {
  expect_departure(occupancy.departs);
}

/// Thousands of ranks start and wait in turn, so this and the waits touch little memory.
Pending OccupantContext::keep(Pending started) {
  const std::size_t number = started.number();
  if (number >= is_open_.size()) is_open_.resize(number + 1, false);
  is_open_[number] = true;
  return started;
}

void OccupantContext::check_presence() {
  if (inner_.now() >= departs_) depart();
}

Pending OccupantContext::compute(const Work& work, Kernel kernel) {
  check_presence();
  return keep(inner_.compute(work, std::move(kernel)));
}

Pending OccupantContext::send(Rank to, Channel channel, Slice slice, const Note& note) {
  check_presence();
  is_peer_[static_cast<std::size_t>(to)] = true;
  return keep(inner_.send(to, channel, slice, note));
}

Pending OccupantContext::receive(Rank from, Channel channel, Slice slice) {
  check_presence();
  is_peer_[static_cast<std::size_t>(from)] = true;
  return keep(inner_.receive(from, channel, slice));
}

Pending OccupantContext::all_reduce(std::span<const Rank> members, Channel, Slice,
                                    const collectives::Element&) {
  TANDEM_CHECK(false, "an all-reduce of the library cannot lose a member; members", members.size());
  return {};
}

Pending OccupantContext::read(int disk, DiskAccess access, Kernel transfer) {
  check_presence();
  return keep(inner_.read(disk, access, std::move(transfer)));
}

Pending OccupantContext::write(int disk, DiskAccess access, Kernel transfer) {
  check_presence();
  return keep(inner_.write(disk, access, std::move(transfer)));
}

Pending OccupantContext::sleep(Seconds duration) {
  check_presence();
  return keep(inner_.sleep(duration));
}

Completion OccupantContext::wait(Pending& pending) {
  check_presence();
  while (!inner_.is_done(pending)) {
    std::array<Pending, 3> awaited;
    if (const auto completion = wait_or_take_note({&pending, 1}, awaited)) return *completion;
    check_presence();
  }
  is_open_[pending.number()] = false;
  return inner_.wait(pending);
}

Completion OccupantContext::wait_any(std::span<Pending> pendings) {
  if (pendings.size() == 1) return wait(pendings.front());
  check_presence();
  while (true) {
    awaited_.resize(pendings.size() + 2);
    if (const auto completion = wait_or_take_note(pendings, awaited_)) return *completion;
    check_presence();
  }
}

/// None: the machine departs now, or the steward's note has been dealt with. `awaited` has an entry for each
/// of `pendings` and two more.
std::optional<Completion> OccupantContext::wait_or_take_note(std::span<Pending> pendings,
                                                             std::span<Pending> awaited) {
  const std::size_t asked = pendings.size();
  const auto entry_of = [](const Pending& pending) { return Pending(pending.number()); };
  std::ranges::transform(pendings, awaited.begin(), entry_of);
  awaited[asked] = std::move(departure_);
  awaited[asked + 1] = std::move(steward_.next());
  const auto put_back = [&] {
    departure_ = std::move(awaited[asked]);
    steward_.next() = std::move(awaited[asked + 1]);
  };
  const auto close = [&](Pending& pending) { is_open_[pending.release()] = false; };
  Completion completion;
  try {
    completion = inner_.wait_any(awaited);
  } catch (...) {
    put_back();
    // The operation that failed has been waited for; others have not.
    for (std::size_t i = 0; i < asked; ++i)
      if (awaited[i].empty() && !pendings[i].empty()) close(pendings[i]);
    throw;
  }
  put_back();
  if (completion.index < asked) {
    close(pendings[completion.index]);
    return completion;
  }
  if (completion.index == asked + 1) {
    steward_.expect_next();
    on_message(completion.note);
  }
  return std::nullopt;
}

Pending OccupantContext::disconnect(Rank peer) {
  is_peer_[static_cast<std::size_t>(peer)] = false;
  return keep(inner_.disconnect(peer));
}

/// Each change of the members disconnects every worker from all others, and each has few peers.
std::vector<Pending> OccupantContext::disconnect_all(std::span<const Rank> peers) {
  std::vector<Pending> disconnecting;
  for (const Rank peer : peers)
    if (is_peer_[static_cast<std::size_t>(peer)] && peer != rank()) disconnecting.push_back(disconnect(peer));
  return disconnecting;
}

void OccupantContext::on_message(const Note& note) {
  // All has been done: the occupant may take its time to notice the end.
  if (protocol::as<protocol::End>(note)) {
    steward_.put_back(note);
    return end();
  }
  if (node_ != nullptr && node_->on_message(note)) {
    if (!node_->has_departed()) return;
    node_->disconnect(inner_);
    is_peer_[static_cast<std::size_t>(node_->node())] = false;
    return;
  }
  const auto occupancy = protocol::unpack<protocol::Occupancy>(note);
  if (occupancy.incarnation == incarnation_) return expect_departure(occupancy.departs);
  // The next occupant is there already: the clock of the steward is ahead of this rank's.
  steward_.put_back(note);
  departs_ = inner_.now();
}

void OccupantContext::expect_departure(Seconds at) {
  if (at >= departs_) return;
  departs_ = at;
  if (!departure_.empty()) {
    inner_.cancel(departure_);
    inner_.wait(departure_);
  }
  if (!std::isinf(at.count())) departure_ = inner_.sleep(std::max(Seconds(0), at - inner_.now()));
}

/// Everything of the occupant is lost: no peer may receive messages that it has sent and that have not been
/// received, and no message to it may reach the next occupant. Transfers must end before their memory is
/// freed. Notes between the steward and the slot name the occupant.
void OccupantContext::depart() {
  inner_.stop_work();
  std::vector<Pending> open;
  for (std::size_t number = 0; number < is_open_.size(); ++number)
    if (is_open_[number]) open.emplace_back(static_cast<std::uint32_t>(number));
  inner_.cancel_all(open);
  std::vector<Pending> disconnecting;
  for (Rank peer = 0; peer < inner_.world_size(); ++peer)
    if (is_peer_[static_cast<std::size_t>(peer)] && peer != steward_.steward())
      disconnecting.push_back(inner_.disconnect(peer));
  inner_.wait_all(disconnecting);
  inner_.wait_all(open);
  end();
  throw OccupantDeparted();
}

void OccupantContext::end() {
  departs_ = Seconds(std::numeric_limits<double>::infinity());
  if (departure_.empty()) return;
  inner_.cancel(departure_);
  inner_.wait(departure_);
}

}  // namespace tandem

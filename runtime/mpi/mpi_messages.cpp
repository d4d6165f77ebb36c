// Messages of the context on MPI: how a note travels with its payload, how payloads pass through memory that
// a node shares, and how memory that only the device may look into leaves and comes through pinned memory.
#include <algorithm>
#include <cstring>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "runtime/mpi/wire.hpp"

namespace tandem {
namespace {

constexpr std::int64_t in_message = -1;

/// What precedes the payload on a channel that carries notes, and between ranks of a node.
struct Envelope {
  Note note;
  std::int64_t size;
  std::int64_t place;  ///< of the payload in the memory that the node shares; in_message: not there
};
constexpr auto envelope_size = static_cast<std::int64_t>(sizeof(Envelope));

// Up to here a copy costs less than a second message.
constexpr std::int64_t packed_limit = 16 * 1024;
// Between ranks of a node, more would wait in MPI until it is received: there is a way that does not.
constexpr std::int64_t packed_limit_on_node = 3 * 1024;

// Two tags a channel, since a large payload follows its envelope as a message of its own.
int tag_of(Channel channel) { return 2 * channel.number(); }
int payload_tag_of(Channel channel) { return 2 * channel.number() + 1; }

}  // namespace

std::byte* MpiContext::staging_of(Slot& slot) {
  if (!slot.staging) slot.staging = std::make_unique<std::byte[]>(sizeof(Envelope) + packed_limit);
  return slot.staging.get();
}

/// Whether messages of the channel begin with an envelope: for sender and receiver alike.
bool MpiContext::has_envelope(Channel channel, Rank peer) const {
  return channel.carries_note || is_neighbour(peer);
}

bool MpiContext::is_neighbour(Rank peer) const {
  return setting_.node_memory && setting_.node_memory->reaches(peer);
}

/// Bytes up to which a payload travels in its envelope's message.
std::int64_t MpiContext::packed_most(Rank peer) const {
  return is_neighbour(peer) ? packed_limit_on_node : packed_limit;
}

/// `by_host`: who touches the payload, as it does one that is packed with its envelope; otherwise MPI does.
bool MpiContext::is_staged(const Slice& slice, bool by_host) const {
  return slice.size > Bytes(0) && (by_host || !setting_.direct_messages) && device_.owns(slice.data);
}

// ---- Sending ----

Pending MpiContext::send(Rank to, Channel channel, Slice slice, const Note& note) {
  TANDEM_CHECK(to >= 0 && to < size_ && channel.number() >= 0 && slice.size >= Bytes(0), "to", to, "channel",
               channel.number(), "bytes", slice.size.count());
  if (slice.data == nullptr) slice.data = scratch(slice.size);
  const auto number = acquire(Slot::State::messages);
  Slot& slot = slots_[number];
  const std::int64_t size = slice.size.count();
  const bool enveloped = has_envelope(channel, to);
  const bool packed = enveloped && size <= packed_most(to);
  const bool staged = is_staged(slice, packed);
  // Where MPI reads the payload; a packed one is copied behind its envelope.
  std::byte* payload = slice.data;
  if (staged) {
    slot.block = pinned_.take(packed ? envelope_size + size : size);
    payload = slot.block.data() + (packed ? envelope_size : 0);
  }
  Parts parts{payload, size};
  const std::int64_t place = enveloped && !packed ? place_on_node(to, slice) : in_message;
  if (enveloped) {
    std::byte* const head = staged && packed ? slot.block.data() : staging_of(slot);
    const Envelope envelope{channel.carries_note ? note : Note{}, size, place};
    std::memcpy(head, &envelope, sizeof(envelope));
    if (packed && !staged) std::copy_n(slice.data, size, head + envelope_size);
    const bool follows = !packed && place == in_message;
    parts = follows ? Parts{head, envelope_size, payload, size}
                    : Parts{head, envelope_size + (packed ? size : 0)};
  }
  const int tag = tag_of(channel);
  const DeviceCopies::Route route{to, tag};
  if (staged)
    copies_.out(payload, slice.data, size, route, [=, this] { start(number, to, tag, parts); });
  else if (copies_.is_leaving(route))
    copies_.behind(route, [=, this] { start(number, to, tag, parts); });
  else
    start(number, to, tag, parts);
  // The receiver, who is told by now, takes what is there while the rest is put.
  if (place != in_message) setting_.node_memory->put(place, slice.data, size);
  return Pending(number);
}

/// A place in the memory that the node shares, if the payload may and can be there.
std::int64_t MpiContext::place_on_node(Rank to, const Slice& payload) {
  if (!is_neighbour(to) || device_.owns(payload.data)) return in_message;
  return setting_.node_memory->reserve(payload.size.count()).value_or(in_message);
}

void MpiContext::start(std::uint32_t number, Rank to, int tag, const Parts& parts) {
  watch(number, start_send(communicator_, to, tag, parts.first, parts.first_size));
  if (parts.second != nullptr)
    watch(number, start_send(communicator_, to, tag + 1, parts.second, parts.second_size));
}

// ---- Receiving ----

Pending MpiContext::receive(Rank from, Channel channel, Slice slice) {
  TANDEM_CHECK(from >= 0 && from < size_ && channel.number() >= 0 && slice.size >= Bytes(0), "from", from,
               "channel", channel.number(), "bytes", slice.size.count());
  if (slice.data == nullptr) slice.data = scratch(slice.size);
  const std::int64_t size = slice.size.count();
  const auto number = acquire(Slot::State::messages);
  Slot& slot = slots_[number];
  slot.slice = slice;
  if (!has_envelope(channel, from)) {
    std::byte* const place = arrival_place(slot, size, /*by_host=*/false);
    watch(number, start_receive(communicator_, from, tag_of(channel), place, size));
    return Pending(number);
  }
  const auto key = static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint32_t>(channel.number());
  slot.stream = &streams_[key];
  slot.stream->unresolved.push_back(number);
  slot.peer = from;
  slot.payload_tag = payload_tag_of(channel);
  const auto most = envelope_size + std::min(packed_most(from), size);
  if (is_staged(slice, true)) slot.block = pinned_.take(most);
  slot.head = slot.block.empty() ? staging_of(slot) : slot.block.data();
  watch(number, start_receive(communicator_, from, tag_of(channel), slot.head, most));
  return Pending(number);
}

/// Where MPI, or the host, may write what comes into the slot's memory.
std::byte* MpiContext::arrival_place(Slot& slot, std::int64_t size, bool by_host) {
  if (!is_staged({Bytes(size), slot.slice.data}, by_host)) return slot.slice.data;
  slot.block = pinned_.take(size);
  slot.landing = slot.block.data();
  slot.landed = unknown_size;
  return slot.landing;
}

void MpiContext::land(Slot& slot, const std::byte* pinned, std::int64_t size) {
  if (size == 0) return end(slot);
  copies_.in(slot.slice.data, pinned, size, [&slot] { end(slot); });
}

void MpiContext::message_ended(std::uint32_t number) {
  Slot& slot = slots_[number];
  --slot.open_messages;
  if (slot.stream == nullptr) {
    if (slot.open_messages > 0) return;
    return slot.landing == nullptr ? end(slot) : land(slot, slot.landing, slot.landed);
  }
  // Envelopes match in order but may end out of order; payloads must be asked for in order.
  slot.has_envelope = true;
  auto& unresolved = slot.stream->unresolved;
  while (!unresolved.empty() && slots_[unresolved.front()].has_envelope) {
    const std::uint32_t next = unresolved.front();
    unresolved.erase(unresolved.begin());
    resolve(next);
  }
}

void MpiContext::resolve(std::uint32_t number) {
  Slot& slot = slots_[number];
  slot.stream = nullptr;
  slot.has_envelope = false;
  Envelope envelope;
  std::memcpy(&envelope, slot.head, sizeof(envelope));
  slot.note = envelope.note;
  if (envelope.size > slot.slice.size.count())
    throw WorldError("a message of " + std::to_string(envelope.size) + " bytes came from rank " +
                     std::to_string(slot.peer) + " where at most " + std::to_string(slot.slice.size.count()) +
                     " were expected");
  if (envelope.size > packed_most(slot.peer)) {
    const bool is_on_node = envelope.place != in_message;
    std::byte* const place = arrival_place(slot, envelope.size, is_on_node);
    if (is_on_node) {
      time_->restart();
      setting_.node_memory->take(slot.peer, envelope.place, place, envelope.size,
                                 [this] { time_->pause(std::nullopt, /*only_deadline=*/true); });
      return slot.landing == nullptr ? end(slot) : land(slot, slot.landing, envelope.size);
    }
    watch(number, start_receive(communicator_, slot.peer, slot.payload_tag, place, envelope.size));
    return;
  }
  if (!slot.block.empty()) return land(slot, slot.head + envelope_size, envelope.size);
  std::copy_n(slot.head + envelope_size, envelope.size, slot.slice.data);
  end(slot);
}

}  // namespace tandem

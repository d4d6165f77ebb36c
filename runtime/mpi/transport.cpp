#include "runtime/mpi/transport.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/wire.hpp"

namespace tandem {
namespace {

/// What precedes the payload on a channel that carries notes, and between ranks of a node.
struct Envelope {
  Note note;
  std::int64_t size;
  std::int64_t place;  ///< of the payload in the memory that the node shares
};
constexpr auto envelope_size = static_cast<std::int64_t>(sizeof(Envelope));
constexpr auto ticket_size = static_cast<std::int64_t>(sizeof(PeerMessages::Ticket));
/// Instead of a place: the payload is in the memory of the sender's GPU, and a ticket follows the envelope.
constexpr std::int64_t with_ticket = NodeMemoryPath::none - 1;

// Two tags for each channel, since a large payload follows its envelope as a message of its own.
int tag_of(Channel channel) { return 2 * channel.number(); }
int payload_tag_of(Channel channel) { return 2 * channel.number() + 1; }

// The channels of the two highest streams are the context's own.
constexpr Channel control_channel{.stream = Channel::most_streams - 2};

std::uint64_t key_of(Rank peer, Channel channel) {
  return static_cast<std::uint64_t>(peer) << 32U | static_cast<std::uint32_t>(channel.number());
}

}  // namespace

/// Control messages between ranks: cancelled messages and departures.
struct Transport::Control {
  enum class What : std::int32_t {
    cancel,     ///< can this message of mine still be thrown away?
    cancelled,  ///< it will be
    met,        ///< a receive has met it
    discard,    ///< throw away all messages up to this one of the channel that no receive has met
    discarded,  ///< that has been done for all channels; in a question: has it?
    departed    ///< the sender leaves
  };
  What what;
  Channel channel;
  std::int64_t number = 0;
  std::int64_t size = 0;
};

Transport::Transport(MPI_Comm all, SlotTable& slots, NodeMemoryPath& node, PeerMessages* peers,
                     DeviceStaging& staging, HostTime& time)
    : all_(all), slots_(slots), node_(node), peers_(peers), staging_(staging), time_(time) {
  check_mpi(MPI_Comm_rank(all_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(all_, &size_), "MPI_Comm_size");
}

std::byte* Transport::staging_of(Slot& slot) {
  if (!slot.staging)
    slot.staging = std::make_unique<std::byte[]>(sizeof(Envelope) + NodeMemoryPath::packed_limit());
  return slot.staging.get();
}

std::byte* Transport::scratch(Bytes size) {
  const auto needed = static_cast<std::size_t>(size.count());
  if (scratch_.empty() || scratch_.back().size() < needed)
    scratch_.emplace_back(scratch_.empty() ? needed : std::max(needed, 2 * scratch_.back().size()));
  return scratch_.back().data();
}

/// Whether messages of the channel begin with an envelope: for sender and receiver alike.
bool Transport::has_envelope(Channel channel, Rank peer) const {
  return channel.carries_note || node_.reaches(peer) || reaches_gpu(peer);
}

Transport::Outgoing& Transport::outgoing_on(Rank to, Channel channel) {
  Outgoing& outgoing = outgoing_[key_of(to, channel)];
  outgoing.channel = channel;
  return outgoing;
}

IncomingChannel& Transport::incoming_on(Rank from, Channel channel) {
  return incoming_[key_of(from, channel)];
}

Pending Transport::ended_at_once(Outcome outcome) {
  const auto number = slots_.acquire_done(time_.now());
  slots_[number].outcome = outcome;
  return Pending(number);
}

// ---- Sending ----

Pending Transport::send(Rank to, Channel channel, Slice slice, const Note& note) {
  TANDEM_CHECK(to >= 0 && to < size_ && channel.number() >= 0 && slice.size >= Bytes(0), "to", to, "channel",
               channel.number(), "bytes", slice.size.count());
  if (!departed_.empty()) {
    TANDEM_CHECK(!departed_.contains(rank_), "rank", rank_, "has announced its departure, and sends to", to);
    if (departed_.contains(to)) return ended_at_once(Outcome::peer_left);
  }
  if (slice.data == nullptr) slice.data = scratch(slice.size);
  const auto number = slots_.acquire(Slot::State::messages);
  Slot& slot = slots_[number];
  slot.direction = Slot::Direction::send;
  slot.peer = to;
  slot.channel = channel;
  slot.slice = slice;
  const std::int64_t size = slice.size.count();
  Outgoing& outgoing = outgoing_on(to, channel);
  slot.number = ++outgoing.number;
  outgoing.largest = std::max(outgoing.largest, size);
  const bool enveloped = has_envelope(channel, to);
  const bool packed = enveloped && size <= node_.packed_most(to);
  const bool by_peer = !packed && reaches_gpu(to) && peers_->carries(to, slice);
  const bool staged = !by_peer && staging_.is_needed(slice, packed);
  // The memory from which MPI reads the payload; a packed payload is copied behind its envelope.
  std::byte* payload = slice.data;
  if (staged) {
    slot.block = staging_.take(packed ? envelope_size + size : size);
    payload = slot.block.data() + (packed ? envelope_size : 0);
  }
  Parts parts{payload, size};
  const bool may_share = enveloped && !packed && !staging_.is_of_device(slice);
  const std::int64_t place = may_share ? node_.reserve(to, slice.size) : NodeMemoryPath::none;
  if (enveloped) {
    std::byte* const head = staged && packed ? slot.block.data() : staging_of(slot);
    const Envelope envelope{channel.carries_note ? note : Note{}, size, by_peer ? with_ticket : place};
    std::memcpy(head, &envelope, sizeof(envelope));
    if (packed && !staged) std::copy_n(slice.data, size, head + envelope_size);
    if (by_peer) {
      const PeerMessages::Ticket ticket = peers_->ticket_for(slice);
      std::memcpy(head + envelope_size, &ticket, sizeof(ticket));
    }
    const bool follows = !packed && envelope.place == NodeMemoryPath::none;
    const std::int64_t behind = packed ? size : by_peer ? ticket_size : 0;
    parts = follows ? Parts{head, envelope_size, payload, size} : Parts{head, envelope_size + behind};
  }
  const int tag = tag_of(channel);
  // The memory must not change before the receiver has copied it.
  if (by_peer) watch(number, start_receive(peers_->receipts(), to, tag, nullptr, 0));
  const DeviceCopies::Route route{to, tag};
  DeviceCopies& copies = staging_.copies();
  if (!staged && !copies.is_leaving(route)) {
    start(number, to, tag, parts);
  } else {
    ++slot.open_messages;  // until it has started
    const auto then = [=, this] {
      start(number, to, tag, parts);
      --slots_[number].open_messages;
    };
    staged ? copies.out(payload, slice.data, size, route, then) : copies.behind(route, then);
  }
  // The receiver already has the envelope, so it copies the first bytes out while the rest is copied in.
  if (place != NodeMemoryPath::none) node_.put(place, slice);
  return Pending(number);
}

void Transport::watch(std::uint32_t slot, MPI_Request request) {
  ++slots_[slot].open_messages;
  requests_.push_back(request);
  owners_.push_back(slot);
}

void Transport::start(std::uint32_t number, Rank to, int tag, const Parts& parts) {
  watch(number, start_send(all_, to, tag, parts.first, parts.first_size));
  if (parts.second != nullptr) watch(number, start_send(all_, to, tag + 1, parts.second, parts.second_size));
}

// ---- Receiving ----

Pending Transport::receive(Rank from, Channel channel, Slice slice) {
  Pending pending = post_receive(from, channel, slice);
  IncomingChannel& incoming = incoming_on(from, channel);
  if (!incoming.cancelled.empty()) drain(from, channel, incoming);
  return pending;
}

Pending Transport::post_receive(Rank from, Channel channel, Slice slice) {
  TANDEM_CHECK(from >= 0 && from < size_ && channel.number() >= 0 && slice.size >= Bytes(0), "from", from,
               "channel", channel.number(), "bytes", slice.size.count());
  if (!departed_.empty() && departed_.contains(from) && !is_on_its_way(from, channel))
    return ended_at_once(Outcome::peer_left);
  if (slice.data == nullptr) slice.data = scratch(slice.size);
  const std::int64_t size = slice.size.count();
  const auto number = slots_.acquire(Slot::State::messages);
  Slot& slot = slots_[number];
  slot.direction = Slot::Direction::receive;
  slot.peer = from;
  slot.channel = channel;
  slot.slice = slice;
  IncomingChannel& incoming = incoming_on(from, channel);
  ++incoming.posted;
  if (has_envelope(channel, from)) {
    slot.stream = &incoming;
    incoming.unresolved.push_back(number);
    slot.payload_tag = payload_tag_of(channel);
    const auto most = envelope_size +
                      std::max(std::min(node_.packed_most(from), size), reaches_gpu(from) ? ticket_size : 0);
    if (staging_.is_needed(slice, true)) slot.block = staging_.take(most);
    slot.head = slot.block.empty() ? staging_of(slot) : slot.block.data();
    watch(number, start_receive(all_, from, tag_of(channel), slot.head, most));
  } else {
    std::byte* const place = arrival_place(slot, size, /*by_host=*/false);
    watch(number, start_receive(all_, from, tag_of(channel), place, size));
  }
  return Pending(number);
}

/// The memory into which MPI or the host may write the data for this slot.
std::byte* Transport::arrival_place(Slot& slot, std::int64_t size, bool by_host) {
  if (!staging_.is_needed({Bytes(size), slot.slice.data}, by_host)) return slot.slice.data;
  slot.block = staging_.take(size);
  slot.landing = slot.block.data();
  slot.landed = Slot::unknown_size;
  return slot.landing;
}

void Transport::land(Slot& slot, const std::byte* pinned, std::int64_t size) {
  if (size == 0) return slot.end(time_.now());
  staging_.copies().in(slot.slice.data, pinned, size, [this, &slot] { slot.end(time_.now()); });
}

void Transport::message_ended(std::uint32_t number) {
  Slot& slot = slots_[number];
  --slot.open_messages;
  if (slot.stream == nullptr) {
    if (slot.open_messages > 0) return;
    return slot.landing == nullptr ? slot.end(time_.now()) : land(slot, slot.landing, slot.landed);
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

void Transport::resolve(std::uint32_t number) {
  Slot& slot = slots_[number];
  slot.stream = nullptr;
  slot.has_envelope = false;
  Envelope envelope;
  std::memcpy(&envelope, slot.head, sizeof(envelope));
  slot.note = envelope.note;
  if (envelope.size > slot.slice.size.count())
    throw WorldError("expected a message of at most " + std::to_string(slot.slice.size.count()) +
                     " bytes from rank " + std::to_string(slot.peer) + ", received " +
                     std::to_string(envelope.size) + " bytes");
  if (envelope.place == with_ticket) return copy_from_peer(slot, envelope.size);
  if (envelope.size > node_.packed_most(slot.peer)) {
    const bool is_on_node = envelope.place != NodeMemoryPath::none;
    std::byte* const place = arrival_place(slot, envelope.size, is_on_node);
    if (is_on_node) {
      time_.restart();
      node_.memory().take(slot.peer, envelope.place, place, envelope.size,
                          [this] { time_.pause(std::nullopt, /*only_deadline=*/true); });
      return slot.landing == nullptr ? slot.end(time_.now()) : land(slot, slot.landing, envelope.size);
    }
    watch(number, start_receive(all_, slot.peer, slot.payload_tag, place, envelope.size));
    return;
  }
  if (!slot.block.empty()) return land(slot, slot.head + envelope_size, envelope.size);
  std::copy_n(slot.head + envelope_size, envelope.size, slot.slice.data);
  slot.end(time_.now());
}

/// The receipts of a channel are in the order of its messages, as the copies are.
void Transport::copy_from_peer(Slot& slot, std::int64_t size) {
  PeerMessages::Ticket ticket;
  std::memcpy(&ticket, slot.head + envelope_size, sizeof(ticket));
  const std::byte* const payload = peers_->payload(slot.peer, ticket);
  const bool to_device = staging_.is_of_device(slot.slice);
  if (!to_device) slot.block = staging_.take(size);
  std::byte* const place = to_device ? slot.slice.data : slot.block.data();
  const auto end = [=, this, &slot] {
    check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, slot.peer, tag_of(slot.channel), peers_->receipts()),
              "MPI_Send");
    if (!to_device) std::copy_n(place, size, slot.slice.data);
    slot.end(time_.now());
  };
  staging_.copies().in_opened(peers_->memory(), place, payload, size, end);
}

// ---- Progress ----

bool Transport::advance() {
  if (requests_.empty()) return false;
  if (ended_.size() < requests_.size()) {
    ended_.resize(2 * requests_.size());
    statuses_.resize(ended_.size());
  }
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, ended_.data(),
                                statuses_.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i) check_mpi(statuses_[static_cast<std::size_t>(i)].MPI_ERROR, "message");
  check_mpi(code, "MPI_Testsome");
  if (count == 0 || count == MPI_UNDEFINED) return false;

  for (int i = 0; i < count; ++i) {
    Slot& slot = slots_[owners_[static_cast<std::size_t>(ended_[static_cast<std::size_t>(i)])]];
    if (slot.landing != nullptr && slot.landed == Slot::unknown_size)
      slot.landed = size_of(statuses_[static_cast<std::size_t>(i)]);
  }
  ended_owners_.clear();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) {
      ended_owners_.push_back(owners_[i]);
      continue;
    }
    requests_[kept] = requests_[i];
    owners_[kept] = owners_[i];
    ++kept;
  }
  requests_.resize(kept);
  owners_.resize(kept);
  for (const auto number : ended_owners_) message_ended(number);
  return true;
}

// ---- Withdrawing and leaving ----

void Transport::cancel(std::span<const std::uint32_t> numbers) {
  cancel_receives([&](std::uint32_t number) { return std::ranges::find(numbers, number) != numbers.end(); },
                  Outcome::cancelled);
  for (const std::uint32_t number : numbers) {
    Slot& slot = slots_[number];
    if (slot.direction != Slot::Direction::send || slot.awaits_verdict) continue;
    slot.outcome = Outcome::cancelled;
    request_cancel(number);
  }
}

/// The newest first: else the message of a cancelled receive might meet a later one, whose memory may be
/// smaller. MPI may match messages between two of the calls. `outcome`: of those that matched none.
template <class IsMeant>
void Transport::cancel_receives(const IsMeant& is_meant, Outcome outcome) {
  for (const std::uint32_t number : std::vector(owners_.rbegin(), owners_.rend())) {
    Slot& slot = slots_[number];
    const bool is_open =
        slot.state == Slot::State::messages && slot.direction == Slot::Direction::receive && !slot.is_drain;
    if (is_open && is_meant(number) && cancel_receive(number)) slot.outcome = outcome;
  }
}

/// The slot's outcome is the result of the operation if the receiver agrees.
void Transport::request_cancel(std::uint32_t number) {
  Slot& slot = slots_[number];
  slot.awaits_verdict = true;
  ++slot.open_messages;
  tell(slot.peer, {Control::What::cancel, slot.channel, slot.number, slot.slice.size.count()});
}

void Transport::tell(Rank to, const Control& control) const {
  // Small enough that MPI buffers it immediately.
  check_mpi(MPI_Send(&control, sizeof(control), MPI_BYTE, to, tag_of(control_channel), all_), "MPI_Send");
}

bool Transport::hear_control() {
  bool heard = false;
  for (;;) {
    int is_there = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag_of(control_channel), all_, &is_there, &status), "MPI_Iprobe");
    if (is_there == 0) break;
    Control control{};
    check_mpi(MPI_Recv(&control, sizeof(control), MPI_BYTE, status.MPI_SOURCE, tag_of(control_channel), all_,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
    hear(status.MPI_SOURCE, control);
    heard = true;
  }
  release_drains();
  return heard;
}

void Transport::hear(Rank from, const Control& control) {
  switch (control.what) {
    case Control::What::cancel:
      return answer_cancel(from, control);
    case Control::What::cancelled:
    case Control::What::met:
      return hear_verdict(from, control);
    case Control::What::discard:
      return discard(from, control);
    case Control::What::discarded:
      // A question has the size 1.
      return control.size > 0 ? tell(from, {control.what, control.channel, control.number})
                              : hear_verdict(from, control);
    case Control::What::departed:
      return hear_departure(from);
  }
}

void Transport::answer_cancel(Rank from, const Control& question) {
  IncomingChannel& incoming = incoming_on(from, question.channel);
  const bool is_met = question.number <= incoming.posted;
  Control answer = question;
  answer.what = is_met ? Control::What::met : Control::What::cancelled;
  tell(from, answer);
  if (is_met) return;
  const IncomingChannel::Cancelled message{question.number, question.size};
  const auto behind =
      std::ranges::upper_bound(incoming.cancelled, message.number, {}, &IncomingChannel::Cancelled::number);
  incoming.cancelled.insert(behind, message);
  ++discarded_;
  drain(from, question.channel, incoming);
}

/// Receives and discards the cancelled messages that come next.
void Transport::drain(Rank from, Channel channel, IncomingChannel& incoming) {
  while (!incoming.cancelled.empty() && incoming.cancelled.front().number == incoming.posted + 1) {
    const IncomingChannel::Cancelled message = incoming.cancelled.front();
    incoming.cancelled.erase(incoming.cancelled.begin());
    const auto number = post_receive(from, channel, {Bytes(message.size)}).release();
    Slot& slot = slots_[number];
    slot.is_drain = true;
    // Not set where the peer has departed.
    slot.peer = from;
    slot.channel = channel;
    slot.number = message.number;
    incoming.drains.push_back(number);
    drains_.push_back(number);
  }
}

void Transport::release_drains() {
  std::erase_if(drains_, [this](std::uint32_t number) {
    const Slot& slot = slots_[number];
    if (slot.state != Slot::State::done) return false;
    std::erase(incoming_on(slot.peer, slot.channel).drains, number);
    slots_.release(number);
    return true;
  });
}

void Transport::hear_verdict(Rank from, const Control& verdict) {
  for (std::uint32_t number = 0; number < slots_.size(); ++number) {
    Slot& slot = slots_[number];
    if (!slot.awaits_verdict || slot.peer != from || slot.channel != verdict.channel ||
        slot.number != verdict.number)
      continue;
    slot.awaits_verdict = false;
    if (verdict.what == Control::What::met) slot.outcome = Outcome::done;
    return message_ended(number);
  }
}

Pending Transport::disconnect(Rank peer) {
  cancel_receives([&](std::uint32_t number) { return slots_[number].peer == peer; }, Outcome::cancelled);
  for (const auto& [key, outgoing] : outgoing_)
    if (static_cast<Rank>(key >> 32U) == peer)
      tell(peer, {Control::What::discard, outgoing.channel, outgoing.number, outgoing.largest});
  const auto number = slots_.acquire(Slot::State::messages);
  Slot& slot = slots_[number];
  slot.peer = peer;
  slot.channel = control_channel;
  slot.number = ++disconnects_;
  slot.awaits_verdict = true;
  slot.open_messages = 1;
  constexpr std::int64_t question = 1;
  tell(peer, {Control::What::discarded, slot.channel, slot.number, question});
  return Pending(number);
}

void Transport::discard(Rank from, const Control& last) {
  IncomingChannel& incoming = incoming_on(from, last.channel);
  std::vector<IncomingChannel::Cancelled> all;
  for (std::int64_t number = incoming.posted + 1; number <= last.number; ++number)
    all.push_back({number, last.size});
  if (all.empty()) return;
  // They include those that were cancelled before.
  discarded_ += std::ssize(all) - std::ssize(incoming.cancelled);
  incoming.cancelled = std::move(all);
  drain(from, last.channel, incoming);
}

/// True: the receive has ended and no message will match it. A receive that has matched a message is not
/// changed.
bool Transport::cancel_receive(std::uint32_t number) {
  Slot& slot = slots_[number];
  IncomingChannel& incoming = incoming_on(slot.peer, slot.channel);
  // Later receives of cancelled messages would match the message that this receive does not take.
  std::vector<IncomingChannel::Cancelled> put_back;
  for (const std::uint32_t behind : std::vector(incoming.drains.rbegin(), incoming.drains.rend())) {
    const IncomingChannel::Cancelled message{slots_[behind].number, slots_[behind].slice.size.count()};
    if (cancel_request(behind)) put_back.push_back(message);
  }
  for (const auto& message : put_back) incoming.cancelled.insert(incoming.cancelled.begin(), message);
  const bool is_cancelled = cancel_request(number);
  drain(slot.peer, slot.channel, incoming);
  return is_cancelled;
}

/// Cancels a receive. False: it has matched a message.
bool Transport::cancel_request(std::uint32_t number) {
  Slot& slot = slots_[number];
  const auto found = std::ranges::find(owners_, number);
  if (slot.state != Slot::State::messages || found == owners_.end()) return false;
  if (has_envelope(slot.channel, slot.peer) && (slot.stream == nullptr || slot.has_envelope)) return false;
  const auto index = found - owners_.begin();
  MPI_Request& request = requests_[static_cast<std::size_t>(index)];
  check_mpi(MPI_Cancel(&request), "MPI_Cancel");
  int has_ended = 0;
  int is_cancelled = 0;
  MPI_Status status;
  check_mpi(MPI_Test(&request, &has_ended, &status), "MPI_Test");
  if (has_ended == 0) return false;  // its message is in flight
  requests_.erase(requests_.begin() + index);
  owners_.erase(found);
  check_mpi(MPI_Test_cancelled(&status, &is_cancelled), "MPI_Test_cancelled");
  if (is_cancelled == 0) {
    if (slot.landing != nullptr && slot.landed == Slot::unknown_size) slot.landed = size_of(status);
    message_ended(number);
    return false;
  }
  IncomingChannel& incoming = incoming_on(slot.peer, slot.channel);
  --incoming.posted;
  std::erase(incoming.unresolved, number);
  slot.stream = nullptr;
  slot.open_messages = 0;
  slot.end(time_.now());
  return true;
}

/// Whether MPI has a message that no receive has matched. Pre: no receive is posted for it.
bool Transport::is_on_its_way(Rank from, Channel channel) const {
  int is_there = 0;
  check_mpi(MPI_Iprobe(from, tag_of(channel), all_, &is_there, MPI_STATUS_IGNORE), "MPI_Iprobe");
  return is_there != 0;
}

void Transport::announce_departure() {
  for (Rank other = 0; other < size_; ++other)
    if (other != rank_) tell(other, {Control::What::departed, {}});
  hear_departure(rank_);
}

/// MPI delivers in the order of sending: all messages that the rank had sent are here.
void Transport::hear_departure(Rank who) {
  departed_.insert(who);
  const bool is_own = who == rank_;
  cancel_receives([&](std::uint32_t number) { return is_own || slots_[number].peer == who; },
                  is_own ? Outcome::cancelled : Outcome::peer_left);
  for (std::uint32_t number = 0; number < slots_.size(); ++number) {
    Slot& slot = slots_[number];
    if (slot.state != Slot::State::messages || slot.direction != Slot::Direction::send || slot.peer != who ||
        slot.awaits_verdict)
      continue;
    slot.outcome = Outcome::peer_left;
    request_cancel(number);
  }
}

}  // namespace tandem

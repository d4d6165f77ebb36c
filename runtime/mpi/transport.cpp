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

Transport::Transport(MPI_Comm all, OperationTable& operations, NodeMemoryPath& node, PeerMessages* peers,
                     DeviceStaging& staging, HostTime& time)
    : all_(all), operations_(operations), node_(node), peers_(peers), staging_(staging), time_(time) {
  check_mpi(MPI_Comm_rank(all_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(all_, &size_), "MPI_Comm_size");
}

std::byte* Transport::staging_of(Operation& operation) {
  if (!operation.staging)
    operation.staging = std::make_unique<std::byte[]>(sizeof(Envelope) + NodeMemoryPath::packed_limit());
  return operation.staging.get();
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
  const auto number = operations_.acquire_done(time_.now());
  operations_[number].outcome = outcome;
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
  const auto number = operations_.acquire(Operation::State::messages);
  Operation& operation = operations_[number];
  operation.direction = Operation::Direction::send;
  operation.peer = to;
  operation.channel = channel;
  operation.slice = slice;
  const std::int64_t size = slice.size.count();
  Outgoing& outgoing = outgoing_on(to, channel);
  operation.number = ++outgoing.number;
  outgoing.largest = std::max(outgoing.largest, size);
  const bool enveloped = has_envelope(channel, to);
  const bool packed = enveloped && size <= node_.packed_most(to);
  const bool by_peer = !packed && reaches_gpu(to) && peers_->carries(to, slice);
  const bool staged = !by_peer && staging_.is_needed(slice, packed);
  // The memory from which MPI reads the payload; a packed payload is copied behind its envelope.
  std::byte* payload = slice.data;
  if (staged) {
    operation.block = staging_.take(packed ? envelope_size + size : size);
    payload = operation.block.data() + (packed ? envelope_size : 0);
  }
  Parts parts{payload, size};
  const bool may_share = enveloped && !packed && !staging_.is_of_device(slice);
  const std::int64_t place = may_share ? node_.reserve(to, slice.size) : NodeMemoryPath::none;
  if (enveloped) {
    std::byte* const head = staged && packed ? operation.block.data() : staging_of(operation);
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
    ++operation.open_messages;  // until it has started
    const auto then = [=, this] {
      start(number, to, tag, parts);
      --operations_[number].open_messages;
    };
    staged ? copies.out(payload, slice.data, size, route, then) : copies.behind(route, then);
  }
  // The receiver already has the envelope, so it copies the first bytes out while the rest is copied in.
  if (place != NodeMemoryPath::none) node_.put(place, slice);
  return Pending(number);
}

void Transport::watch(std::uint32_t operation, MPI_Request request) {
  ++operations_[operation].open_messages;
  requests_.push_back(request);
  owners_.push_back(operation);
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
  const auto number = operations_.acquire(Operation::State::messages);
  Operation& operation = operations_[number];
  operation.direction = Operation::Direction::receive;
  operation.peer = from;
  operation.channel = channel;
  operation.slice = slice;
  IncomingChannel& incoming = incoming_on(from, channel);
  ++incoming.posted;
  if (has_envelope(channel, from)) {
    operation.stream = &incoming;
    incoming.unresolved.push_back(number);
    operation.payload_tag = payload_tag_of(channel);
    const auto most = envelope_size +
                      std::max(std::min(node_.packed_most(from), size), reaches_gpu(from) ? ticket_size : 0);
    if (staging_.is_needed(slice, true)) operation.block = staging_.take(most);
    operation.head = operation.block.empty() ? staging_of(operation) : operation.block.data();
    watch(number, start_receive(all_, from, tag_of(channel), operation.head, most));
  } else {
    std::byte* const place = arrival_place(operation, size, /*by_host=*/false);
    watch(number, start_receive(all_, from, tag_of(channel), place, size));
  }
  return Pending(number);
}

/// The memory into which MPI or the host may write the data for this operation.
std::byte* Transport::arrival_place(Operation& operation, std::int64_t size, bool by_host) {
  if (!staging_.is_needed({Bytes(size), operation.slice.data}, by_host)) return operation.slice.data;
  operation.block = staging_.take(size);
  operation.landing = operation.block.data();
  operation.landed = Operation::unknown_size;
  return operation.landing;
}

void Transport::land(Operation& operation, const std::byte* pinned, std::int64_t size) {
  if (size == 0) return operation.end(time_.now());
  staging_.copies().in(operation.slice.data, pinned, size,
                       [this, &operation] { operation.end(time_.now()); });
}

void Transport::message_ended(std::uint32_t number) {
  Operation& operation = operations_[number];
  --operation.open_messages;
  if (operation.stream == nullptr) {
    if (operation.open_messages > 0) return;
    return operation.landing == nullptr ? operation.end(time_.now())
                                        : land(operation, operation.landing, operation.landed);
  }
  // Envelopes match in order but may end out of order; payloads must be asked for in order.
  operation.has_envelope = true;
  auto& unresolved = operation.stream->unresolved;
  while (!unresolved.empty() && operations_[unresolved.front()].has_envelope) {
    const std::uint32_t next = unresolved.front();
    unresolved.erase(unresolved.begin());
    resolve(next);
  }
}

void Transport::resolve(std::uint32_t number) {
  Operation& operation = operations_[number];
  operation.stream = nullptr;
  operation.has_envelope = false;
  Envelope envelope;
  std::memcpy(&envelope, operation.head, sizeof(envelope));
  operation.note = envelope.note;
  if (envelope.size > operation.slice.size.count())
    throw WorldError("expected a message of at most " + std::to_string(operation.slice.size.count()) +
                     " bytes from rank " + std::to_string(operation.peer) + ", received " +
                     std::to_string(envelope.size) + " bytes");
  if (envelope.place == with_ticket) return copy_from_peer(operation, envelope.size);
  if (envelope.size > node_.packed_most(operation.peer)) {
    const bool is_on_node = envelope.place != NodeMemoryPath::none;
    std::byte* const place = arrival_place(operation, envelope.size, is_on_node);
    if (is_on_node) {
      time_.restart();
      node_.memory().take(operation.peer, envelope.place, place, envelope.size,
                          [this] { time_.pause(std::nullopt, /*only_deadline=*/true); });
      return operation.landing == nullptr ? operation.end(time_.now())
                                          : land(operation, operation.landing, envelope.size);
    }
    watch(number, start_receive(all_, operation.peer, operation.payload_tag, place, envelope.size));
    return;
  }
  if (!operation.block.empty()) return land(operation, operation.head + envelope_size, envelope.size);
  std::copy_n(operation.head + envelope_size, envelope.size, operation.slice.data);
  operation.end(time_.now());
}

/// The receipts of a channel are in the order of its messages, as the copies are.
void Transport::copy_from_peer(Operation& operation, std::int64_t size) {
  PeerMessages::Ticket ticket;
  std::memcpy(&ticket, operation.head + envelope_size, sizeof(ticket));
  const std::byte* const payload = peers_->payload(operation.peer, ticket);
  const bool to_device = staging_.is_of_device(operation.slice);
  if (!to_device) operation.block = staging_.take(size);
  std::byte* const place = to_device ? operation.slice.data : operation.block.data();
  const auto end = [=, this, &operation] {
    check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, operation.peer, tag_of(operation.channel), peers_->receipts()),
              "MPI_Send");
    if (!to_device) std::copy_n(place, size, operation.slice.data);
    operation.end(time_.now());
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
    Operation& operation =
        operations_[owners_[static_cast<std::size_t>(ended_[static_cast<std::size_t>(i)])]];
    if (operation.landing != nullptr && operation.landed == Operation::unknown_size)
      operation.landed = size_of(statuses_[static_cast<std::size_t>(i)]);
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
    Operation& operation = operations_[number];
    if (operation.direction != Operation::Direction::send || operation.awaits_verdict) continue;
    operation.outcome = Outcome::cancelled;
    request_cancel(number);
  }
}

/// The newest first: else the message of a cancelled receive might meet a later one, whose memory may be
/// smaller. MPI may match messages between two of the calls. `outcome`: of those that matched none.
template <class IsMeant>
void Transport::cancel_receives(const IsMeant& is_meant, Outcome outcome) {
  for (const std::uint32_t number : std::vector(owners_.rbegin(), owners_.rend())) {
    Operation& operation = operations_[number];
    const bool is_open = operation.state == Operation::State::messages &&
                         operation.direction == Operation::Direction::receive && !operation.is_drain;
    if (is_open && is_meant(number) && cancel_receive(number)) operation.outcome = outcome;
  }
}

/// Its result becomes the outcome of the operation if the receiver agrees.
void Transport::request_cancel(std::uint32_t number) {
  Operation& operation = operations_[number];
  operation.awaits_verdict = true;
  ++operation.open_messages;
  send_control(operation.peer,
               {Control::What::cancel, operation.channel, operation.number, operation.slice.size.count()});
}

void Transport::send_control(Rank to, const Control& control) const {
  // Small enough that MPI buffers it immediately.
  check_mpi(MPI_Send(&control, sizeof(control), MPI_BYTE, to, tag_of(control_channel), all_), "MPI_Send");
}

bool Transport::take_control() {
  bool has_taken = false;
  for (;;) {
    int is_there = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag_of(control_channel), all_, &is_there, &status), "MPI_Iprobe");
    if (is_there == 0) break;
    Control control{};
    check_mpi(MPI_Recv(&control, sizeof(control), MPI_BYTE, status.MPI_SOURCE, tag_of(control_channel), all_,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
    on_control(status.MPI_SOURCE, control);
    has_taken = true;
  }
  release_drains();
  return has_taken;
}

void Transport::on_control(Rank from, const Control& control) {
  switch (control.what) {
    case Control::What::cancel:
      return answer_cancel(from, control);
    case Control::What::cancelled:
    case Control::What::met:
      return on_verdict(from, control);
    case Control::What::discard:
      return discard(from, control);
    case Control::What::discarded:
      // A question has the size 1.
      return control.size > 0 ? send_control(from, {control.what, control.channel, control.number})
                              : on_verdict(from, control);
    case Control::What::departed:
      return on_departure(from);
  }
}

void Transport::answer_cancel(Rank from, const Control& question) {
  IncomingChannel& incoming = incoming_on(from, question.channel);
  const bool is_met = question.number <= incoming.posted;
  Control answer = question;
  answer.what = is_met ? Control::What::met : Control::What::cancelled;
  send_control(from, answer);
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
    Operation& operation = operations_[number];
    operation.is_drain = true;
    // Not set where the peer has departed.
    operation.peer = from;
    operation.channel = channel;
    operation.number = message.number;
    incoming.drains.push_back(number);
    drains_.push_back(number);
  }
}

void Transport::release_drains() {
  std::erase_if(drains_, [this](std::uint32_t number) {
    const Operation& operation = operations_[number];
    if (operation.state != Operation::State::done) return false;
    std::erase(incoming_on(operation.peer, operation.channel).drains, number);
    operations_.release(number);
    return true;
  });
}

void Transport::on_verdict(Rank from, const Control& verdict) {
  for (std::uint32_t number = 0; number < operations_.size(); ++number) {
    Operation& operation = operations_[number];
    if (!operation.awaits_verdict || operation.peer != from || operation.channel != verdict.channel ||
        operation.number != verdict.number)
      continue;
    operation.awaits_verdict = false;
    if (verdict.what == Control::What::met) operation.outcome = Outcome::done;
    return message_ended(number);
  }
}

Pending Transport::disconnect(Rank peer) {
  cancel_receives([&](std::uint32_t number) { return operations_[number].peer == peer; }, Outcome::cancelled);
  for (const auto& [key, outgoing] : outgoing_)
    if (static_cast<Rank>(key >> 32U) == peer)
      send_control(peer, {Control::What::discard, outgoing.channel, outgoing.number, outgoing.largest});
  const auto number = operations_.acquire(Operation::State::messages);
  Operation& operation = operations_[number];
  operation.peer = peer;
  operation.channel = control_channel;
  operation.number = ++disconnects_;
  operation.awaits_verdict = true;
  operation.open_messages = 1;
  constexpr std::int64_t question = 1;
  send_control(peer, {Control::What::discarded, operation.channel, operation.number, question});
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
  Operation& operation = operations_[number];
  IncomingChannel& incoming = incoming_on(operation.peer, operation.channel);
  // Later receives of cancelled messages would match the message that this receive does not take.
  std::vector<IncomingChannel::Cancelled> put_back;
  for (const std::uint32_t behind : std::vector(incoming.drains.rbegin(), incoming.drains.rend())) {
    const IncomingChannel::Cancelled message{operations_[behind].number,
                                             operations_[behind].slice.size.count()};
    if (cancel_request(behind)) put_back.push_back(message);
  }
  for (const auto& message : put_back) incoming.cancelled.insert(incoming.cancelled.begin(), message);
  const bool is_cancelled = cancel_request(number);
  drain(operation.peer, operation.channel, incoming);
  return is_cancelled;
}

/// Cancels a receive. False: it has matched a message.
bool Transport::cancel_request(std::uint32_t number) {
  Operation& operation = operations_[number];
  const auto found = std::ranges::find(owners_, number);
  if (operation.state != Operation::State::messages || found == owners_.end()) return false;
  if (has_envelope(operation.channel, operation.peer) &&
      (operation.stream == nullptr || operation.has_envelope))
    return false;
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
    if (operation.landing != nullptr && operation.landed == Operation::unknown_size)
      operation.landed = size_of(status);
    message_ended(number);
    return false;
  }
  IncomingChannel& incoming = incoming_on(operation.peer, operation.channel);
  --incoming.posted;
  std::erase(incoming.unresolved, number);
  operation.stream = nullptr;
  operation.open_messages = 0;
  operation.end(time_.now());
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
    if (other != rank_) send_control(other, {Control::What::departed, {}});
  on_departure(rank_);
}

/// MPI delivers in the order of sending: all messages that the rank had sent are here.
void Transport::on_departure(Rank who) {
  departed_.insert(who);
  const bool is_own = who == rank_;
  cancel_receives([&](std::uint32_t number) { return is_own || operations_[number].peer == who; },
                  is_own ? Outcome::cancelled : Outcome::peer_left);
  for (std::uint32_t number = 0; number < operations_.size(); ++number) {
    Operation& operation = operations_[number];
    if (operation.state != Operation::State::messages || operation.direction != Operation::Direction::send ||
        operation.peer != who || operation.awaits_verdict)
      continue;
    operation.outcome = Outcome::peer_left;
    request_cancel(number);
  }
}

}  // namespace tandem

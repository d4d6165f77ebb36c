// Operations of one simulated rank: started lazily, ended by the kernel, matched here.
#include "sim/rank_context.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <simgrid/kernel/Timer.hpp>
#include <utility>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/crash_report.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

RankContext::RankContext(World& world, Rank rank, s4u::Host& host)
    : world_(world),
      rank_(rank),
      host_(host),
      // A device works on one thing at a time, whatever the number of cores of the machine around it.
      cores_for_compute_(host.get_property("device") != nullptr ? host.get_core_count() : 1),
      disks_(host.get_disks()) {}

// ---- Starting ----

const char* RankContext::name_of(Kind kind) {
  constexpr std::array names{"compute", "send",  "receive", "all-reduce",
                             "read",    "write", "sleep",   "disconnect"};
  return names[static_cast<std::size_t>(kind)];
}

RankContext::Operation& RankContext::new_operation(Kind kind) {
  last_operation = {rank_, name_of(kind)};
  if (free_operation_ == no_slot) {
    Operation& fresh = operations_.emplace_back();
    fresh.owner = this;
    fresh.slot = static_cast<std::uint32_t>(operations_.size() - 1);
    may_have_ended_.push_back(0);
    free_operation_ = fresh.slot;
  }
  Operation& operation = operations_[free_operation_];
  free_operation_ = operation.next;
  operation.next = no_slot;
  operation.kind = kind;
  operation.state = State::pending;
  operation.outcome = Outcome::done;
  operation.note = {};
  operation.is_work = false;
  operation.is_timed = kind == Kind::sleep;
  may_have_ended_[operation.slot] = operation.is_timed ? 1 : 0;
  return operation;
}

Pending RankContext::started(Operation& operation) {
  to_start_.push_back(&operation);
  return Pending(operation.slot);
}

Pending RankContext::done_at_once(Operation& operation, Outcome outcome) {
  operation.outcome = outcome;
  mark_ended(operation, State::done);
  return Pending(operation.slot);
}

void RankContext::mark_ended(Operation& operation, State state) {
  operation.state = state;
  operation.ended_s = now().count();
  may_have_ended_[operation.slot] = 1;
  ++done_count_;
}

Pending RankContext::sleep(Seconds duration) {
  TANDEM_CHECK(duration.count() >= 0, "duration", duration.count(), "rank", rank_);
  Operation& operation = new_operation(Kind::sleep);
  if (duration.count() <= world_.precision_s()) return done_at_once(operation);
  operation.amount = (now() + duration).count();
  return started(operation);
}

// ---- Messages ----

RankContext::Stream& RankContext::stream(Rank from, Channel channel) {
  const auto key = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) |
                   static_cast<std::uint32_t>(channel.number());
  const auto [found, is_new] = streams_.try_emplace(key);
  if (is_new) {
    found->second.carries_note = channel.carries_note;
    found->second.next_of_peer = std::exchange(streams_of_[from], &found->second);
  }
  TANDEM_CHECK(found->second.carries_note == channel.carries_note, "channel", channel.number(), "from", from,
               "to", rank_, "both ends must agree whether it carries notes");
  return found->second;
}

template <class Use>
void RankContext::for_each_stream(Rank from, const Use& use) {
  const auto first = streams_of_.find(from);
  if (first == streams_of_.end()) return;
  for (Stream* at = first->second; at != nullptr; at = at->next_of_peer) use(*at);
}

template <class ElementOf, class Element>
void RankContext::append(Stream& stream, const ElementOf& element_of, Element& element, std::uint32_t index) {
  element.next = no_slot;
  if (stream.head == no_slot)
    stream.head = index;
  else
    element_of(stream.tail).next = index;
  stream.tail = index;
}

template <class NextOf>
bool RankContext::unlink(Stream& stream, const NextOf& next_of, std::uint32_t index) {
  std::uint32_t before = no_slot;
  for (std::uint32_t at = stream.head; at != no_slot; before = at, at = next_of(at)) {
    if (at != index) continue;
    (before == no_slot ? stream.head : next_of(before)) = next_of(at);
    if (stream.tail == index) stream.tail = before;
    return true;
  }
  return false;
}

void RankContext::deliver(const Message& message, const std::byte* bytes, Operation& receive) {
  const auto size = static_cast<std::size_t>(message.size.count());
  TANDEM_CHECK(message.size <= receive.slice.size, "a message of", message.size.count(), "bytes from",
               message.sender->rank(), "to", rank_, "meets a receive of", receive.slice.size.count());
  if (bytes != nullptr && receive.slice.data != nullptr && size > 0)
    std::memcpy(receive.slice.data, bytes, size);
  receive.note = message.note;
}

Pending RankContext::send(Rank to, Channel channel, Slice slice, const Note& note) {
  TANDEM_CHECK(to >= 0 && to < world_size(), "to", to, "world size", world_size());
  TANDEM_CHECK(slice.size.count() >= 0, "size", slice.size.count(), "rank", rank_);
  RankContext& receiver = world_.rank(to);
  if (world_.has_departures() && (has_left_ || receiver.has_left())) {
    TANDEM_CHECK(!has_left_, "rank", rank_, "has announced its departure, and sends to", to);
    return done_at_once(new_operation(Kind::send), Outcome::peer_left);
  }
  Message& message = connection_to(receiver).new_message();
  Operation& operation = new_operation(Kind::send);
  operation.peer = to;
  operation.channel = channel;
  message.send_slot = operation.slot;
  message.send_is_open = true;
  message.size = slice.size;
  message.wire_size =
      static_cast<std::uint64_t>((slice.size + (channel.carries_note ? note_size : Bytes(0))).count());
  message.note = channel.carries_note ? note : Note{};

  Stream& stream = receiver.stream(rank_, channel);
  if (stream.head != no_slot && stream.holds_receives) {
    Operation& receive = receiver.operations_[stream.head];
    stream.head = receive.next;
    message.receive_slot = receive.slot;
    receiver.deliver(message, slice.data, receive);
  } else {
    if (slice.data != nullptr && slice.size.count() > 0) {
      const auto size = static_cast<std::size_t>(slice.size.count());
      message.bytes = std::make_unique_for_overwrite<std::byte[]>(size);
      std::memcpy(message.bytes.get(), slice.data, size);
    }
    stream.holds_receives = false;
    append(
        stream, [this](std::uint32_t i) -> Message& { return world_.message(i); }, message, message.index);
    message.waits_for_receive = slice.size > world_.setting().eager_limit;
  }
  if (!message.waits_for_receive) messages_to_start_.push_back(&message);
  const std::uint32_t slot = operation.slot;
  hand_over(message);
  return Pending(slot);
}

/// The send call keeps the rank busy while the message is already in flight.
void RankContext::hand_over(const Message& message) {
  if (message.connection->route().path == nullptr) return;
  const double seconds =
      world_.network().draw_send_s(*message.connection->route().path, static_cast<double>(message.wire_size));
  if (seconds <= 0) return;
  start_operations();
  s4u::this_actor::sleep_for(seconds);
}

Connection& RankContext::connection_to(RankContext& receiver) {
  const auto found = connections_.find(receiver.rank());
  if (found != connections_.end()) return found->second;
  world_.check_route(*this, receiver);
  return connections_.try_emplace(receiver.rank(), world_, *this, receiver).first->second;
}

Pending RankContext::receive(Rank from, Channel channel, Slice slice) {
  TANDEM_CHECK(from >= 0 && from < world_size(), "from", from, "world size", world_size());
  Operation& operation = new_operation(Kind::receive);
  operation.peer = from;
  operation.channel = channel;
  operation.slice = slice;
  Stream& stream = this->stream(from, channel);
  if (stream.head == no_slot || stream.holds_receives) {
    if (world_.has_departures() && (has_left_ || world_.rank(from).has_left())) {
      TANDEM_CHECK(!has_left_, "rank", rank_, "has announced its departure, and receives from", from);
      return done_at_once(operation, Outcome::peer_left);
    }
    stream.holds_receives = true;
    append(
        stream, [this](std::uint32_t i) -> Operation& { return operations_[i]; }, operation, operation.slot);
    return Pending(operation.slot);
  }
  Message& message = world_.message(stream.head);
  stream.head = message.next;
  deliver(message, message.bytes.get(), operation);
  message.bytes.reset();
  if (message.end != Message::End::open) {
    const bool arrived = message.end == Message::End::arrived;
    message.connection->recycle(message);
    if (arrived) return done_at_once(operation);
    mark_ended(operation, State::failed);
    return Pending(operation.slot);
  }
  message.receive_slot = operation.slot;
  if (message.waits_for_receive) {
    message.waits_for_receive = false;
    messages_to_start_.push_back(&message);
  }
  return Pending(operation.slot);
}

// ---- Cancelling and leaving ----

void RankContext::end_early(Operation& operation, Outcome outcome) {
  operation.outcome = outcome;
  finish(operation.slot, true);
}

void RankContext::cancel(const Pending& pending) {
  TANDEM_CHECK(!pending.empty(), "rank", rank_);
  Operation& operation = operations_[pending.slot()];
  if (is_done(pending)) return;
  bool is_cancelled = false;
  if (operation.kind == Kind::sleep && !operation.is_work) {
    std::erase(to_start_, &operation);
    is_cancelled = true;
  } else if (operation.kind == Kind::send) {
    is_cancelled = cancel_send(operation);
  } else if (operation.kind == Kind::receive) {
    Stream& from_peer = stream(operation.peer, operation.channel);
    const auto next_of = [this](std::uint32_t slot) -> std::uint32_t& { return operations_[slot].next; };
    is_cancelled = from_peer.holds_receives && unlink(from_peer, next_of, operation.slot);
  }
  if (is_cancelled) end_early(operation, Outcome::cancelled);
}

/// False: a receive has matched it, so it can no longer be cancelled.
bool RankContext::cancel_send(const Operation& send) {
  Stream& at_receiver = world_.rank(send.peer).stream(rank_, send.channel);
  if (at_receiver.holds_receives) return false;
  const auto next_of = [this](std::uint32_t i) -> std::uint32_t& { return world_.message(i).next; };
  const auto is_of_send = [&send](const Message& message) {
    return message.send_is_open && message.send_slot == send.slot;
  };
  std::uint32_t index = at_receiver.head;
  while (index != no_slot && !is_of_send(world_.message(index))) index = next_of(index);
  if (index == no_slot) return false;
  unlink(at_receiver, next_of, index);
  Message& message = world_.message(index);
  if (throw_away(message)) messages_to_start_.push_back(&message);
  return true;
}

/// Discards a message that no receive will match. It continues to its end, as in a real network; on MPI also
/// one that waits for its receive: the receiver takes it and forgets it. True: that message is now to be
/// started.
bool RankContext::throw_away(Message& message) {
  RankContext& sender = *message.sender;
  message.bytes.reset();
  message.send_slot = no_slot;
  const bool has_ended = message.end != Message::End::open;
  const bool has_set_out = !has_ended && std::erase(sender.messages_to_start_, &message) == 0;
  message.is_thrown_away = has_set_out;
  if (!has_set_out) message.connection->recycle(message);
  return has_set_out && std::exchange(message.waits_for_receive, false);
}

Pending RankContext::disconnect(Rank peer) {
  TANDEM_CHECK(peer >= 0 && peer < world_size() && peer != rank_, "peer", peer, "rank", rank_);
  RankContext& other = world_.rank(peer);
  Operation& operation = new_operation(Kind::disconnect);
  operation.peer = peer;
  ask(other, operation);
  simgrid::kernel::actor::simcall_answered([this, peer, &other] {
    start_all();
    for_each_stream(peer, [this](Stream& held) {
      if (held.holds_receives) end_receives(held, Outcome::cancelled);
    });
    other.for_each_stream(rank_, [&other](Stream& held) {
      if (!held.holds_receives) other.discard_messages(held, Outcome::cancelled);
    });
  });
  return Pending(operation.slot);
}

/// The question follows what is in flight from this rank, the answer what is in flight from the other one. As
/// on MPI, discarded messages that waited for their receive come behind.
void RankContext::ask(RankContext& other, Operation& operation) {
  Message& question = connection_to(other).new_control();
  question.asked_by = operation.slot;
  messages_to_start_.push_back(&question);
  other.connection_to(*this);
}

void RankContext::answer(RankContext& other, std::uint32_t asked_by) {
  Message& answer = connection_to(other).new_control();
  answer.receive_slot = asked_by;
  answer.connection->start(answer);
}

/// Kernel context.
void RankContext::end_receives(Stream& held, Outcome outcome) {
  for (std::uint32_t at = held.head; at != no_slot;) {
    const std::uint32_t next = operations_[at].next;
    end_early(operations_[at], outcome);
    at = next;
  }
  held.head = no_slot;
}

/// Those that no receive has matched. `outcome`: of their sends. Kernel context.
void RankContext::discard_messages(Stream& held, Outcome outcome) {
  for (std::uint32_t at = held.head; at != no_slot;) {
    Message& message = world_.message(at);
    at = message.next;
    if (message.send_is_open)
      message.sender->end_early(message.sender->operations_[message.send_slot], outcome);
    if (throw_away(message)) message.connection->start(message);
  }
  held.head = no_slot;
}

void RankContext::announce_departure() {
  TANDEM_CHECK(!has_left_, "rank", rank_, "has announced its departure before");
  has_left_ = true;
  world_.note_departure();
  // In one call: other ranks wake up, and must not send to this rank before it is finished.
  simgrid::kernel::actor::simcall_answered([this] {
    for (auto& [key, held] : streams_) {
      if (held.holds_receives)
        end_receives(held, Outcome::cancelled);
      else
        discard_messages(held, Outcome::peer_left);
    }
    for (const auto& other : world_.ranks())
      if (other.get() != this) other->lose_peer(rank_);
  });
}

/// Ends the receives that wait for a message of a rank that has left. Kernel context.
void RankContext::lose_peer(Rank peer) {
  for_each_stream(peer, [this](Stream& held) {
    if (held.holds_receives) end_receives(held, Outcome::peer_left);
  });
}

// ---- All-reduce ----

Pending RankContext::all_reduce(std::span<const Rank> members, Channel channel, Slice vector) {
  TANDEM_CHECK(
      vector.size.count() >= 0 && vector.size.count() % static_cast<std::int64_t>(sizeof(float)) == 0, "size",
      vector.size.count(), "rank", rank_);
  Operation& operation = new_operation(Kind::all_reduce);
  operation.channel = channel;
  if (members.size() == 1 || vector.size.count() == 0) return done_at_once(operation);
  auto rendezvous = world_.rendezvous().join(members, channel, rank_, {this, operation.slot, vector});
  if (rendezvous == nullptr) return Pending(operation.slot);
  // No member may read the vector before the end, so the sum can be computed now.
  rendezvous->sum();
  TANDEM_CHECK(world_.setting().all_reduce, "all-reduces need a price; members", members.size());
  const AllReduceTime time = world_.setting().all_reduce(members, vector.size);
  operation.amount = time.alone.count();
  operation.behind_s = time.behind.count();
  TANDEM_CHECK(operation.amount >= 0 && operation.behind_s >= 0, "price", operation.amount,
               operation.behind_s, "members", members.size());
  operation.rendezvous = std::move(rendezvous);
  return started(operation);
}

/// All-reduces with a common member end in the order of their start, because their messages share that
/// member's links.
void RankContext::start_all_reduce(Operation& operation) {
  const auto rendezvous = std::exchange(operation.rendezvous, nullptr);
  const double begin_s = now().count();
  double end_s = begin_s + operation.amount;
  for (const auto& member : rendezvous->members)
    if (const double before_s = member.context->all_reduced_at_s_; before_s > begin_s)
      end_s = std::max(end_s, before_s + operation.behind_s);
  for (const auto& member : rendezvous->members) {
    member.context->all_reduced_at_s_ = end_s;
    member.context->message_set_out();
  }
  simgrid::kernel::timer::Timer::set(end_s, [rendezvous] {
    for (const auto& member : rendezvous->members) {
      member.context->message_over();
      member.context->finish(member.slot, true);
    }
  });
}

// ---- Waiting ----

bool RankContext::is_done(const Pending& pending) {
  TANDEM_CHECK(!pending.empty(), "rank", rank_);
  const Operation& operation = operations_[pending.slot()];
  return operation.state != State::pending || operation.is_due(now().count(), world_.precision_s());
}

Completion RankContext::take(std::uint32_t slot, std::size_t index) {
  Operation& operation = operations_[slot];
  if (operation.state == State::failed)
    throw WorldError("rank " + std::to_string(rank_) + ": " + describe(operation) +
                     " failed: " + world_.last_down());
  if (operation.state == State::done)
    --done_count_;
  else if (operation.transfer)
    end_transfer(operation, true);
  ++operation.uses;
  operation.next = free_operation_;
  free_operation_ = slot;
  if (operation.error) std::rethrow_exception(std::exchange(operation.error, nullptr));
  return {index, operation.note, std::nullopt, operation.outcome};
}

Completion RankContext::wait(Pending& pending) {
  TANDEM_CHECK(!pending.empty(), "rank", rank_);
  const std::uint32_t slot = pending.release();
  awaited_ = slot;
  while (operations_[slot].state == State::pending) block();
  return take(slot, 0);
}

Completion RankContext::wait_any(std::span<Pending> pendings) {
  TANDEM_CHECK(std::any_of(pendings.begin(), pendings.end(), [](const Pending& p) { return !p.empty(); }),
               "rank", rank_, "entries", pendings.size());
  awaited_ = no_slot;
  awaited_any_ = pendings;
  for (;; block()) {
    if (done_count_ == 0) continue;
    if (const auto index = first_ended(pendings)) return take(pendings[*index].release(), *index);
  }
}

/// Index of the operation that ended first; operations that ended at the same time count in the order of
/// their indices. A sleep that is due has not ended yet.
std::optional<std::size_t> RankContext::first_ended(std::span<const Pending> pendings) const {
  const double now_s = now().count();
  std::optional<std::size_t> first;
  double first_s = 0;
  std::size_t unseen = done_count_;
  for (std::size_t i = 0; i < pendings.size() && unseen > 0; ++i) {
    if (pendings[i].empty() || may_have_ended_[pendings[i].slot()] == 0) continue;
    const Operation& operation = operations_[pendings[i].slot()];
    const bool has_ended = operation.state != State::pending;
    if (has_ended) --unseen;
    if (!has_ended && !operation.is_due(now_s, world_.precision_s())) continue;
    const double ended_s = has_ended ? operation.ended_s : now_s;
    if (first && ended_s >= first_s - world_.precision_s()) continue;
    first = i;
    first_s = ended_s;
  }
  return first;
}

void RankContext::block() {
  const std::size_t done_before = done_count_;
  sleep_.after([this, done_before] {
    start_all();
    blocked_ = done_count_ == done_before;
    return blocked_;
  });
}

void RankContext::finish(std::uint32_t slot, bool succeeded) {
  if (operations_[slot].transfer) end_transfer(operations_[slot], succeeded);
  if (operations_[slot].io) spare_ios_.push_back(std::move(operations_[slot].io));
  mark_ended(operations_[slot], succeeded ? State::done : State::failed);
  if (computing_ == &operations_[slot]) {
    action_ = nullptr;
    if (succeeded) start_next_compute();
  }
  if (!blocked_ || killed_ || !is_awaited(slot)) return;
  blocked_ = false;
  sleep_.wake();
}

/// False: to wake the rank for this operation would be in vain. Looks through short lists only.
bool RankContext::is_awaited(std::uint32_t slot) const {
  constexpr std::size_t most = 256;
  if (awaited_ != no_slot) return awaited_ == slot;
  if (awaited_any_.size() > most) return true;
  return std::ranges::any_of(awaited_any_,
                             [slot](const Pending& p) { return !p.empty() && p.slot() == slot; });
}

void RankContext::end() {
  start_operations();
  streams_of_.clear();
  streams_.clear();
  ended_ = true;
  end_time_ = now();
}

// ---- SimGrid ----

void RankContext::start_operations() {
  if (to_start_.empty() && messages_to_start_.empty()) return;
  simgrid::kernel::actor::simcall_answered([this] { start_all(); });
}

/// SimGrid reports the end only of activities that the kernel itself started. Kernel context.
void RankContext::start_all() {
  for (Operation* operation : to_start_) start(*operation);
  for (Message* message : messages_to_start_) message->connection->start(*message);
  to_start_.clear();
  messages_to_start_.clear();
}

void RankContext::start(Operation& operation) {
  switch (operation.kind) {
    case Kind::compute:
      return start_compute(operation);
    case Kind::read:
    case Kind::write:
      return start_disk_transfer(operation);
    case Kind::send:
    case Kind::receive:
    case Kind::disconnect:
      return;  // a message of its own starts for them
    case Kind::all_reduce:
      return start_all_reduce(operation);
    case Kind::sleep:
      return end_at(operation);
  }
}

void RankContext::end_at(Operation& operation) {
  simgrid::kernel::timer::Timer::set(std::max(operation.amount, now().count()),
                                     [&operation, use = operation.uses] {
                                       if (operation.uses == use && operation.state == State::pending)
                                         operation.finish(true);
                                     });
}

std::string RankContext::describe(const Operation& operation) const {
  std::string channel = " on channel " + std::to_string(operation.channel.stream);
  if (operation.channel.bucket >= 0) channel += " of bucket " + std::to_string(operation.channel.bucket);
  switch (operation.kind) {
    case Kind::compute:
      return "a compute";
    case Kind::send:
      return "its send to rank " + std::to_string(operation.peer) + channel;
    case Kind::receive:
      return "a message of rank " + std::to_string(operation.peer) + channel;
    case Kind::all_reduce:
      return "the others of an all-reduce" + channel;
    case Kind::read:
      return "a read of disk " + std::to_string(operation.disk);
    case Kind::write:
      return "a write to disk " + std::to_string(operation.disk);
    case Kind::sleep:
      return "a sleep";
    case Kind::disconnect:
      return "rank " + std::to_string(operation.peer) + " to discard messages";
  }
  return {};
}

std::string RankContext::waiting_for() const {
  if (!blocked_) return {};
  const std::string self = "rank " + std::to_string(rank_) + " waits for ";
  if (awaited_ != no_slot) return self + describe(operations_[awaited_]);
  constexpr std::size_t shown = 3;
  std::size_t count = 0;
  std::string list;
  for (const Pending& pending : awaited_any_) {
    if (pending.empty() || ++count > shown) continue;
    list += (count > 1 ? " or " : "") + describe(operations_[pending.slot()]);
  }
  if (count > shown) list += " or any of " + std::to_string(count - shown) + " more";
  return self + list;
}

}  // namespace tandem::sim

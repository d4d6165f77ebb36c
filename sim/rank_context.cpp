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

namespace {

constexpr std::uint64_t key_of(Rank from, Channel channel) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) |
         static_cast<std::uint32_t>(channel.number());
}

/// Block by block, each without an exit, so that the compiler compares several entries in one instruction.
bool is_among(std::span<const Pending> pendings, std::uint32_t number) {
  constexpr std::size_t block = 32;
  for (; pendings.size() >= block; pendings = pendings.subspan(block)) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < block; ++i) found |= pendings[i].slot() == number ? 1U : 0U;
    if (found != 0) return true;
  }
  return std::ranges::any_of(pendings, [number](const Pending& p) { return p.slot() == number; });
}

}  // namespace

RankContext::RankContext(World& world, Rank rank, s4u::Host& host)
    : world_(world),
      rank_(rank),
      host_(host),
      // A device works on one thing at a time, whatever the number of cores of the machine around it.
      cores_for_compute_(host.get_property("device") != nullptr ? host.get_core_count() : 1),
      disks_(host.get_disks()),
      has_second_queue_(world.setting().has_second_queue && world.setting().has_second_queue(rank)) {}

// ---- Starting ----

const char* RankContext::name_of(Kind kind) {
  constexpr std::array names{"compute", "send",  "receive", "all-reduce",
                             "read",    "write", "sleep",   "disconnect"};
  return names[static_cast<std::size_t>(kind)];
}

RankContext::Operation& RankContext::new_operation(Kind kind) {
  last_operation = {rank_, name_of(kind)};
  if (free_operation_ == no_operation) {
    Operation& fresh = *operations_.emplace_back(std::make_unique<Operation>());
    fresh.owner = this;
    fresh.number = static_cast<std::uint32_t>(operations_.size() - 1);
    ends_.push_back(End::open);
    end_dates_.push_back(0);
    free_operation_ = fresh.number;
  }
  Operation& operation = this->operation(free_operation_);
  free_operation_ = operation.next;
  operation.next = no_operation;
  operation.kind = kind;
  operation.state = State::pending;
  operation.outcome = Outcome::done;
  operation.note = {};
  operation.is_work = false;
  operation.is_timed = false;
  ends_[operation.number] = End::open;
  return operation;
}

void RankContext::end_on(Operation& operation, double date_s) {
  operation.is_timed = true;
  operation.amount = date_s;
  ends_[operation.number] = End::dated;
  end_dates_[operation.number] = date_s;
}

Pending RankContext::started(Operation& operation) {
  to_start_.push_back(&operation);
  return Pending(operation.number);
}

Pending RankContext::done_at_once(Operation& operation, Outcome outcome) {
  operation.outcome = outcome;
  mark_ended(operation, State::done);
  return Pending(operation.number);
}

void RankContext::mark_ended(Operation& operation, State state) {
  const double now_s = now().count();
  operation.state = state;
  ends_[operation.number] = End::ended;
  end_dates_[operation.number] = now_s;
  if (done_count_++ == 0) first_end_s_ = now_s;
}

Pending RankContext::sleep(Seconds duration) {
  TANDEM_CHECK(duration.count() >= 0, "duration", duration.count(), "rank", rank_);
  Operation& operation = new_operation(Kind::sleep);
  if (duration.count() <= world_.precision_s()) return done_at_once(operation);
  end_on(operation, (now() + duration).count());
  return started(operation);
}

// ---- Messages ----

RankContext::Stream& RankContext::stream(Rank from, Channel channel) {
  const auto [found, is_new] = streams_.try_emplace(key_of(from, channel));
  if (is_new) {
    found->second.carries_note = channel.carries_note;
    found->second.number = static_cast<std::uint32_t>(streams_.size());
    if (lists_peers_) add_to_peer(from, found->second);
  }
  TANDEM_CHECK(found->second.carries_note == channel.carries_note, "channel", channel.number(), "from", from,
               "to", rank_, "both ends must agree whether it carries notes");
  return found->second;
}

template <class ElementOf, class Element>
void RankContext::append(Stream& stream, const ElementOf& element_of, Element& element, std::uint32_t index) {
  element.next = no_operation;
  if (stream.head == no_operation)
    stream.head = index;
  else
    element_of(stream.tail).next = index;
  stream.tail = index;
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
  message.send_operation = operation.number;
  message.send_is_open = true;
  message.size = slice.size;
  message.wire_size =
      static_cast<std::uint64_t>((slice.size + (channel.carries_note ? note_size : Bytes(0))).count());
  message.note = channel.carries_note ? note : Note{};

  Stream& stream = receiver.stream(rank_, channel);
  if (stream.head != no_operation && stream.holds_receives) {
    Operation& receive = receiver.operation(stream.head);
    stream.head = receive.next;
    message.receive_operation = receive.number;
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
  const std::uint32_t number = operation.number;
  hand_over(message);
  return Pending(number);
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
  if (stream.head == no_operation || stream.holds_receives) {
    if (world_.has_departures() && (has_left_ || world_.rank(from).has_left())) {
      TANDEM_CHECK(!has_left_, "rank", rank_, "has announced its departure, and receives from", from);
      return done_at_once(operation, Outcome::peer_left);
    }
    stream.holds_receives = true;
    append(
        stream, [this](std::uint32_t i) -> Operation& { return this->operation(i); }, operation,
        operation.number);
    return Pending(operation.number);
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
    return Pending(operation.number);
  }
  message.receive_operation = operation.number;
  if (message.waits_for_receive) {
    message.waits_for_receive = false;
    messages_to_start_.push_back(&message);
  }
  return Pending(operation.number);
}

// ---- All-reduce ----

namespace {

/// Of the sum of floats that takes as long: an all-gather moves what a sum of half its size moves.
Bytes priced_size(Bytes size, const collectives::Element& element) {
  constexpr std::int64_t width = sizeof(float);
  const std::int64_t moved = element.is_gathered() ? (size.count() + 1) / 2 : size.count();
  return Bytes((moved + width - 1) / width * width);
}

}  // namespace

Pending RankContext::all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                                const collectives::Element& element) {
  const std::int64_t unit = element.is_gathered() ? std::ssize(members) : element.bytes;
  TANDEM_CHECK(vector.size.count() >= 0 && vector.size.count() % unit == 0, "size", vector.size.count(),
               "rank", rank_);
  Operation& operation = new_operation(Kind::all_reduce);
  operation.channel = channel;
  if (members.size() == 1 || vector.size.count() == 0) return done_at_once(operation);
  auto rendezvous =
      world_.rendezvous().join(members, channel, rank_, {this, operation.number, vector}, element);
  if (rendezvous == nullptr) return Pending(operation.number);
  // No member may read the vector before the end, so the sum can be computed now.
  rendezvous->sum();
  TANDEM_CHECK(world_.setting().all_reduce, "all-reduces need a price; members", members.size());
  const AllReduceTime time = world_.setting().all_reduce(members, priced_size(vector.size, element));
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
      member.context->finish(member.number, true);
    }
  });
}

// ---- Waiting ----

bool RankContext::is_done(const Pending& pending) {
  TANDEM_CHECK(!pending.empty(), "rank", rank_);
  const Operation& operation = this->operation(pending.slot());
  return operation.state != State::pending || operation.is_due(now().count(), world_.precision_s());
}

Completion RankContext::take(std::uint32_t number, std::size_t index) {
  Operation& operation = this->operation(number);
  if (operation.state == State::failed)
    throw WorldError("rank " + std::to_string(rank_) + ": " + describe(operation) +
                     " failed: " + world_.last_down());
  if (operation.state == State::done)
    --done_count_;
  else if (operation.transfer)
    end_transfer(operation, true);
  ++operation.uses;
  operation.next = free_operation_;
  free_operation_ = number;
  if (operation.is_of_disk() && operation.error)
    std::rethrow_exception(std::exchange(operation.error, nullptr));
  return {index, operation.note, std::nullopt, operation.outcome};
}

Completion RankContext::wait(Pending& pending) {
  TANDEM_CHECK(!pending.empty(), "rank", rank_);
  const std::uint32_t number = pending.release();
  awaited_ = number;
  while (operation(number).state == State::pending) block();
  return take(number, 0);
}

Completion RankContext::wait_any(std::span<Pending> pendings) {
  awaited_ = no_operation;
  awaited_any_ = pendings;
  if (pendings.size() <= awaited_few_.size())
    std::ranges::transform(pendings, awaited_few_.begin(), [](const Pending& p) { return p.slot(); });
  for (;; block()) {
    if (done_count_ > 0)
      if (const auto index = first_ended(pendings)) return take(pendings[*index].release(), *index);
    TANDEM_CHECK(std::ranges::any_of(pendings, [](const Pending& p) { return !p.empty(); }), "rank", rank_,
                 "entries", pendings.size());
  }
}

/// Index of the operation that ended first; operations that ended at the same time count in the order of
/// their indices. A sleep that is due has not ended yet.
std::optional<std::size_t> RankContext::first_ended(std::span<const Pending> pendings) const {
  const double now_s = now().count();
  const double precision_s = world_.precision_s();
  std::optional<std::size_t> first;
  double first_s = 0;
  std::size_t unseen = done_count_;
  for (std::size_t i = 0; i < pendings.size() && unseen > 0; ++i) {
    if (pendings[i].empty()) continue;
    const std::uint32_t number = pendings[i].slot();
    if (ends_[number] == End::open) continue;
    double ended_s = end_dates_[number];
    if (ends_[number] == End::ended) {
      --unseen;
    } else {
      if (ended_s > now_s + precision_s) continue;
      ended_s = now_s;
    }
    if (first && ended_s >= first_s - precision_s) continue;
    first = i;
    first_s = ended_s;
    if (first_end_s_ >= first_s - precision_s) break;
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

void RankContext::finish(std::uint32_t number, bool succeeded) {
  Operation& operation = this->operation(number);
  if (operation.is_of_disk()) {
    if (operation.transfer) end_transfer(operation, succeeded);
    if (operation.io) spare_ios_.push_back(std::move(operation.io));
  }
  mark_ended(operation, succeeded ? State::done : State::failed);
  if (computing_ == &operation) {
    action_ = nullptr;
    if (succeeded) start_next_compute();
  }
  if (!blocked_ || killed_ || !is_awaited(number)) return;
  blocked_ = false;
  sleep_.wake();
}

/// False: to wake the rank for this operation would be in vain.
bool RankContext::is_awaited(std::uint32_t number) const {
  if (awaited_ != no_operation) return awaited_ == number;
  if (awaited_any_.size() > awaited_few_.size()) return is_among(awaited_any_, number);
  const std::span few(awaited_few_.data(), awaited_any_.size());
  return std::ranges::find(few, number) != few.end();
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
  if (awaited_ != no_operation) return self + describe(operation(awaited_));
  constexpr std::size_t shown = 3;
  std::size_t count = 0;
  std::string list;
  for (const Pending& pending : awaited_any_) {
    if (pending.empty() || ++count > shown) continue;
    list += (count > 1 ? " or " : "") + describe(operation(pending.slot()));
  }
  if (count > shown) list += " or any of " + std::to_string(count - shown) + " more";
  return self + list;
}

}  // namespace tandem::sim

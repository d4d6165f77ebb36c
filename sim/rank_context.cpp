// Operations of one simulated rank: handed to its parts and to SimGrid; messages are matched here.
#include "sim/rank_context.hpp"

#include <algorithm>
#include <cstring>
#include <simgrid/kernel/Timer.hpp>
#include <utility>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

RankContext::RankContext(World& world, Rank rank, s4u::Host& host)
    : world_(world),
      rank_(rank),
      host_(host),
      operations_(*this, world.precision_s()),
      device_(world, *this, operations_),
      disks_(world, *this, operations_, waiting_),
      streams_(rank) {}

// ---- Starting ----

Pending RankContext::started(Operation& operation) {
  if (operation.state == State::pending) to_start_.push_back(&operation);
  return Pending(operation.number);
}

Pending RankContext::compute(const Work& work, Kernel kernel) {
  if (kernel) kernel();
  return started(device_.compute(work));
}

Pending RankContext::read(int disk, DiskAccess access, Kernel transfer) {
  return started(disks_.access(Kind::read, disk, access, std::move(transfer)));
}

Pending RankContext::write(int disk, DiskAccess access, Kernel transfer) {
  return started(disks_.access(Kind::write, disk, access, std::move(transfer)));
}

Pending RankContext::sleep(Seconds duration) { return started(operations_.make_sleep(duration)); }

// ---- Messages ----

namespace {

void deliver(const Message& message, const std::byte* bytes, RankOperation& receive) {
  const auto size = static_cast<std::size_t>(message.size.count());
  TANDEM_CHECK(message.size <= receive.slice.size, "a message of", message.size.count(), "bytes from",
               message.sender->rank(), "to", receive.owner->rank(), "meets a receive of",
               receive.slice.size.count());
  if (bytes != nullptr && receive.slice.data != nullptr && size > 0)
    std::memcpy(receive.slice.data, bytes, size);
  receive.note = message.note;
}

}  // namespace

Pending RankContext::send(Rank to, Channel channel, Slice slice, const Note& note) {
  TANDEM_CHECK(to >= 0 && to < world_size(), "to", to, "world size", world_size());
  TANDEM_CHECK(slice.size.count() >= 0, "size", slice.size.count(), "rank", rank_);
  RankContext& receiver = world_.rank(to);
  if (world_.has_departures() && (has_left_ || receiver.has_left())) {
    TANDEM_CHECK(!has_left_, "rank", rank_, "has announced its departure, and sends to", to);
    return started(operations_.done_at_once(operations_.make(Kind::send), Outcome::peer_left));
  }
  Message& message = connection_to(receiver).new_message();
  Operation& operation = operations_.make(Kind::send);
  operation.peer = to;
  operation.channel = channel;
  message.send_operation = operation.number;
  message.send_is_open = true;
  message.size = slice.size;
  message.wire_size =
      static_cast<std::uint64_t>((slice.size + (channel.carries_note ? note_size : Bytes(0))).count());
  message.note = channel.carries_note ? note : Note{};

  MessageStream& stream = receiver.streams_.of(rank_, channel);
  if (stream.head != no_operation && stream.holds_receives) {
    Operation& receive = receiver.operations_[stream.head];
    stream.head = receive.next;
    message.receive_operation = receive.number;
    deliver(message, slice.data, receive);
  } else {
    if (slice.data != nullptr && slice.size.count() > 0) {
      const auto size = static_cast<std::size_t>(slice.size.count());
      message.bytes = std::make_unique_for_overwrite<std::byte[]>(size);
      std::memcpy(message.bytes.get(), slice.data, size);
    }
    stream.holds_receives = false;
    stream.append([this](std::uint32_t i) -> Message& { return world_.message(i); }, message, message.index);
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
  Operation& operation = operations_.make(Kind::receive);
  operation.peer = from;
  operation.channel = channel;
  operation.slice = slice;
  MessageStream& stream = streams_.of(from, channel);
  if (stream.head == no_operation || stream.holds_receives) {
    if (world_.has_departures() && (has_left_ || world_.rank(from).has_left())) {
      TANDEM_CHECK(!has_left_, "rank", rank_, "has announced its departure, and receives from", from);
      return started(operations_.done_at_once(operation, Outcome::peer_left));
    }
    stream.holds_receives = true;
    stream.append([this](std::uint32_t i) -> Operation& { return operations_[i]; }, operation,
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
    if (arrived) return started(operations_.done_at_once(operation));
    operations_.mark_ended(operation, State::failed);
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

/// The size of a sum of floats with the same time: an all-gather moves as much as a sum of half its size.
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
  Operation& operation = operations_.make(Kind::all_reduce);
  operation.channel = channel;
  if (members.size() == 1 || vector.size.count() == 0) return started(operations_.done_at_once(operation));
  auto rendezvous =
      world_.rendezvous().join(members, channel, rank_, {this, operation.number, vector}, element);
  if (rendezvous == nullptr) return started(operation);
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

/// On this rank, which may be the last of the members or not: the library computes, or polls, on the rank's
/// device also while it waits for the others. A run, which does not know of the others, counts alike.
/// All-reduces with a common member end in the order of their start, because their messages share that
/// member's links.
void RankContext::start_all_reduce(Operation& operation) {
  device_.message_set_out();
  const auto rendezvous = std::exchange(operation.rendezvous, nullptr);
  if (rendezvous == nullptr) return;
  const double begin_s = now().count();
  double end_s = begin_s + operation.amount;
  for (const auto& member : rendezvous->members)
    if (const double before_s = member.context->all_reduced_at_s_; before_s > begin_s)
      end_s = std::max(end_s, before_s + operation.behind_s);
  for (const auto& member : rendezvous->members) member.context->all_reduced_at_s_ = end_s;
  simgrid::kernel::timer::Timer::set(end_s, [rendezvous] {
    for (const auto& member : rendezvous->members) {
      member.context->simulated_device().message_over();
      member.context->finish(member.number, true);
    }
  });
}

// ---- Waiting ----

bool RankContext::is_done(const Pending& pending) {
  TANDEM_CHECK(!pending.empty(), "rank", rank_);
  return operations_.is_done(pending.number());
}

Completion RankContext::take(std::uint32_t number, std::size_t index) {
  Operation& operation = operations_[number];
  if (operation.state == State::failed)
    throw WorldError("rank " + std::to_string(rank_) + ": " + operation.describe() +
                     " failed: " + world_.last_down());
  disks_.end_transfer(operation, true);
  operations_.release(operation);
  if (operation.is_of_disk() && operation.error)
    std::rethrow_exception(std::exchange(operation.error, nullptr));
  return {index, operation.note, std::nullopt, operation.outcome};
}

Completion RankContext::wait(Pending& pending) {
  TANDEM_CHECK(!pending.empty(), "rank", rank_);
  const std::uint32_t number = pending.release();
  waiting_.await(number);
  while (operations_[number].state == State::pending) block();
  return take(number, 0);
}

Completion RankContext::wait_any(std::span<Pending> pendings) {
  waiting_.await_any(pendings);
  for (;; block()) {
    if (const auto index = operations_.first_ended(pendings)) return take(pendings[*index].release(), *index);
    TANDEM_CHECK(std::ranges::any_of(pendings, [](const Pending& p) { return !p.empty(); }), "rank", rank_,
                 "entries", pendings.size());
  }
}

void RankContext::block() {
  const std::size_t done_before = operations_.done_count();
  waiting_.block([this, done_before] {
    start_all();
    return operations_.done_count() == done_before;
  });
}

void RankContext::finish(std::uint32_t number, bool succeeded) {
  Operation& operation = operations_[number];
  if (operation.is_of_disk()) disks_.finish(operation, succeeded);
  operations_.mark_ended(operation, succeeded ? State::done : State::failed);
  device_.finish(operation, succeeded);
  waiting_.wake_for(number);
}

void RankContext::end() {
  start_operations();
  streams_.clear();
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
      return device_.start(operation);
    case Kind::read:
    case Kind::write:
      return disks_.start(operation);
    case Kind::send:
    case Kind::receive:
    case Kind::disconnect:
      return;  // a message of its own starts for them
    case Kind::all_reduce:
      return start_all_reduce(operation);
    case Kind::sleep:
      return operations_.start_timer(operation);
  }
}

std::string RankContext::waiting_for() const {
  const std::string awaited = waiting_.describe(operations_);
  return awaited.empty() ? awaited : "rank " + std::to_string(rank_) + " waits for " + awaited;
}

}  // namespace tandem::sim

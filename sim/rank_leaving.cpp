// The operations that a simulated rank stops, cancels and discards, and those that it leaves open.
#include <algorithm>
#include <utility>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/rank_context.hpp"

namespace tandem::sim {

void RankContext::end_early(Operation& operation, Outcome outcome) {
  operation.outcome = outcome;
  finish(operation.number, true);
}

void RankContext::stop_work() {
  TANDEM_CHECK(world_.setting().stops_work, "the simulation was not set up for it; rank", rank_);
  device_.clear_second_queue();
  for (const auto& operation : operations_.all()) {
    const bool is_work = operation->kind == Kind::compute || operation->is_work;
    if (operation->state != State::pending || !is_work || device_.stop(*operation)) continue;
    std::erase(to_start_, operation.get());
    end_early(*operation, Outcome::cancelled);
  }
}

/// No time passes in between.
void RankContext::cancel_all(std::span<const Pending> pendings) {
  for (const Pending& pending : pendings)
    if (!pending.empty()) cancel_one(pending);
}

void RankContext::cancel_one(const Pending& pending) {
  Operation& operation = operations_[pending.number()];
  if (is_done(pending)) return;
  bool is_cancelled = false;
  if (operation.kind == Kind::sleep && !operation.is_work) {
    std::erase(to_start_, &operation);
    is_cancelled = true;
  } else if (operation.kind == Kind::send) {
    is_cancelled = cancel_send(operation);
  } else if (operation.kind == Kind::receive) {
    MessageStream& from_peer = streams_.of(operation.peer, operation.channel);
    const auto next_of = [this](std::uint32_t number) -> std::uint32_t& { return operations_[number].next; };
    is_cancelled = from_peer.holds_receives && from_peer.unlink(next_of, operation.number);
  }
  if (is_cancelled) end_early(operation, Outcome::cancelled);
}

/// False: a receive has matched it, so it can no longer be cancelled.
bool RankContext::cancel_send(const Operation& send) {
  MessageStream& at_receiver = world_.rank(send.peer).streams_.of(rank_, send.channel);
  if (at_receiver.holds_receives) return false;
  const auto next_of = [this](std::uint32_t i) -> std::uint32_t& { return world_.message(i).next; };
  const auto is_of_send = [&send](const Message& message) {
    return message.send_is_open && message.send_operation == send.number;
  };
  std::uint32_t index = at_receiver.head;
  while (index != no_operation && !is_of_send(world_.message(index))) index = next_of(index);
  if (index == no_operation) return false;
  at_receiver.unlink(next_of, index);
  ++world_.rank(send.peer).discarded_;
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
  message.send_operation = no_operation;
  const bool has_ended = message.end != Message::End::open;
  const bool has_set_out = !has_ended && std::erase(sender.messages_to_start_, &message) == 0;
  message.is_thrown_away = has_set_out;
  if (!has_set_out) message.connection->recycle(message);
  return has_set_out && std::exchange(message.waits_for_receive, false);
}

Pending RankContext::disconnect(Rank peer) {
  TANDEM_CHECK(peer >= 0 && peer < world_size() && peer != rank_, "peer", peer, "rank", rank_);
  RankContext& other = world_.rank(peer);
  Operation& operation = operations_.make(Kind::disconnect);
  operation.peer = peer;
  // The question follows what is in flight from this rank, the answer what is in flight from the other one.
  // As on MPI, discarded messages that waited for their receive come behind.
  Message& question = connection_to(other).new_control();
  question.asked_by = operation.number;
  messages_to_start_.push_back(&question);
  other.connection_to(*this);
  simgrid::kernel::actor::simcall_answered([this, peer, &other] {
    start_all();
    streams_.for_each_of(peer, [this](MessageStream& held) {
      if (held.holds_receives) end_receives(held, Outcome::cancelled);
    });
    other.streams_.for_each_of(rank_, [&other](MessageStream& held) {
      if (!held.holds_receives) other.discarded_ += other.discard_messages(held, Outcome::cancelled);
    });
  });
  return Pending(operation.number);
}

void RankContext::answer(RankContext& other, std::uint32_t asked_by) {
  Message& answer = connection_to(other).new_control();
  answer.receive_operation = asked_by;
  answer.connection->start(answer);
}

/// Kernel context.
void RankContext::end_receives(MessageStream& held, Outcome outcome) {
  for (std::uint32_t at = held.head; at != no_operation;) {
    const std::uint32_t next = operations_[at].next;
    end_early(operations_[at], outcome);
    at = next;
  }
  held.head = no_operation;
}

/// Those that no receive has matched; returns how many. `outcome`: of their sends. Kernel context.
std::int64_t RankContext::discard_messages(MessageStream& held, Outcome outcome) {
  std::int64_t count = 0;
  for (std::uint32_t at = held.head; at != no_operation;) {
    Message& message = world_.message(at);
    at = message.next;
    ++count;
    if (message.send_is_open)
      message.sender->end_early(message.sender->operations_[message.send_operation], outcome);
    if (throw_away(message)) message.connection->start(message);
  }
  held.head = no_operation;
  return count;
}

void RankContext::announce_departure() {
  TANDEM_CHECK(!has_left_, "rank", rank_, "has announced its departure before");
  has_left_ = true;
  world_.note_departure();
  // In one call: other ranks wake up, and must not send to this rank before it is finished.
  simgrid::kernel::actor::simcall_answered([this] {
    streams_.for_each([this](MessageStream& held) {
      if (held.holds_receives)
        end_receives(held, Outcome::cancelled);
      else
        discard_messages(held, Outcome::peer_left);
    });
    for (const auto& other : world_.ranks())
      if (other.get() != this) other->lose_peer(rank_);
  });
}

/// Ends the receives that wait for a message of a rank that has left. Kernel context.
void RankContext::lose_peer(Rank peer) {
  streams_.for_each_of(peer, [this](MessageStream& held) {
    if (held.holds_receives) end_receives(held, Outcome::peer_left);
  });
}

}  // namespace tandem::sim

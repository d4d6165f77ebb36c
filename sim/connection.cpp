#include "sim/connection.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/rank_context.hpp"
#include "sim/simgrid_internals.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

void Message::finish(bool succeeded) { connection->part_over(*this, succeeded); }

Connection::Connection(World& world, RankContext& sender, RankContext& receiver)
    : world_(world),
      sender_(sender),
      receiver_(receiver),
      route_(world.network().route_between(sender.host(), receiver.host())),
      held_(route_.path == nullptr ? 0 : static_cast<std::uint64_t>(route_.path->held_bytes)) {}

Message& Connection::new_message() {
  if (free_ == nullptr) {
    Message& fresh = world_.new_message();
    fresh.sender = &sender_;
    fresh.connection = this;
    return fresh;
  }
  Message& message = *std::exchange(free_, free_->next_to_start);
  message.receive_slot = no_slot;
  message.waits_for_receive = false;
  message.end = Message::End::open;
  message.is_thrown_away = false;
  return message;
}

void Connection::recycle(Message& message) { message.next_to_start = std::exchange(free_, &message); }

void Connection::start(Message& message) {
  message.next_to_start = nullptr;
  message.ready_at_s = s4u::Engine::get_clock();
  if (held_ > 0 && to_accept_ == nullptr) to_accept_ = &message;
  if (in_flight_ != nullptr) {
    last_->next_to_start = &message;
    last_ = &message;
    if (to_accept_ == &message) accept(left_ + static_cast<std::uint64_t>(in_flight_->comm->get_remaining()));
    return;
  }
  in_flight_ = last_ = &message;
  lead_ = 0;
  start_transfer(message, world_.network().latency_of_start(route_));
}

void Connection::part_over(Message& message, bool succeeded) {
  if (message.share_timer != nullptr) message.share_timer->remove();
  message.share_timer = nullptr;
  if (succeeded && left_ > 0) {
    std::swap(message.comm, message.other_comm);
    // It pays no latency: the message has paid it already.
    return start_part(message, std::numeric_limits<double>::infinity());
  }
  // Starts the next message first, so that a stream of messages slows work down without interruption.
  start_next();
  sender_.message_over();
  receiver_.message_over();
  if (std::exchange(message.send_is_open, false) && message.send_slot != no_slot)
    sender_.finish(message.send_slot, succeeded);
  if (message.is_thrown_away) return recycle(message);
  if (message.receive_slot == no_slot) {
    message.end = succeeded ? Message::End::arrived : Message::End::failed;
    return;
  }
  receiver_.finish(message.receive_slot, succeeded);
  recycle(message);
}

void Connection::start_next() {
  if (to_accept_ == in_flight_) to_accept_ = in_flight_->next_to_start;
  in_flight_ = in_flight_->next_to_start;
  if (in_flight_ == nullptr) return;
  if (!in_flight_->send_is_open) accepted_behind_ -= in_flight_->wire_size;
  start_transfer(*in_flight_, 0);
}

void Connection::start_transfer(Message& message, double additional_latency_s) {
  sender_.message_set_out();
  receiver_.message_set_out();
  left_ = 0;
  if (!sender_.host().is_on() || !receiver_.host().is_on()) return part_over(message, false);
  message.terms = world_.network().terms_of(route_, static_cast<double>(message.wire_size), lead_);
  message.terms.latency_s += additional_latency_s;
  left_ = message.wire_size;
  start_part(message, s4u::Engine::get_clock() - message.ready_at_s);
}

/// Starts the part of the message after which the next send is complete, or all that is left.
void Connection::start_part(Message& message, double waited_s) {
  std::uint64_t size = left_;
  if (held_ > 0) {
    accept(left_);
    if (to_accept_ != nullptr) size = std::min(left_, bytes_until(*to_accept_, left_) - held_);
  }
  left_ -= size;
  s4u::CommPtr& comm = message.comm;
  if (!comm) {
    comm = s4u::Comm::sendto_init();
    take_off_list(*comm);
    comm->set_data(static_cast<Finishable*>(&message));
    comm->set_payload_size(0);
    comm->set_source(&sender_.host())->set_destination(&receiver_.host());
  }
  world_.network().prepare(message.terms, waited_s);
  comm->set_state(s4u::Activity::State::STARTING);
  comm->set_payload_size(size);
  comm->start();
  if (size == 0) return;
  // If a link is down, the activity ends immediately and SimGrid does not report it.
  if (comm->get_remaining() == 0) return part_over(message, false);
  world_.network().started(message.share_timer);
}

/// Bytes until the end of the message, when `left` bytes of the current message are left. Pre: the sends
/// before it are complete.
std::uint64_t Connection::bytes_until(const Message& message, std::uint64_t left) const {
  return &message == in_flight_ ? left : left + accepted_behind_ + message.wire_size;
}

/// Completes the sends whose messages fit into the transport's buffer when `left` bytes of the current
/// message are left.
void Connection::accept(std::uint64_t left) {
  while (to_accept_ != nullptr && bytes_until(*to_accept_, left) <= held_) {
    Message& message = *std::exchange(to_accept_, to_accept_->next_to_start);
    if (&message != in_flight_) accepted_behind_ += message.wire_size;
    message.send_is_open = false;
    if (message.send_slot != no_slot) sender_.finish(message.send_slot, true);
  }
}

}  // namespace tandem::sim

#include "sim/connection.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/rank_context.hpp"
#include "sim/simgrid_internals.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

void Message::finish(bool succeeded) { connection->part_over(*this, succeeded); }

namespace {

s4u::CommPtr new_comm(Finishable& owner, LinkEnds::Ends ends) {
  s4u::CommPtr comm = s4u::Comm::sendto_init();
  take_off_list(*comm);
  comm->set_data(&owner);
  comm->set_payload_size(0);
  comm->set_source(ends.first)->set_destination(ends.second);
  return comm;
}

}  // namespace

Connection::Connection(World& world, RankContext& sender, RankContext& receiver)
    : world_(world),
      sender_(sender),
      receiver_(receiver),
      route_(world.network().route_between(sender.host(), receiver.host())),
      held_(route_.path == nullptr ? 0 : static_cast<std::uint64_t>(route_.path->held_bytes)) {
  if (route_.narrowing)
    queue_ = std::make_unique<LinkQueue>(world.network(), *route_.narrowing,
                                         [this](bool succeeded) { bytes_queued(succeeded); });
}

Message& Connection::new_message() {
  if (free_ == nullptr) {
    Message& fresh = world_.new_message();
    fresh.sender = &sender_;
    fresh.connection = this;
    return fresh;
  }
  Message& message = *std::exchange(free_, free_->next_to_start);
  message.receive_operation = message.asked_by = no_operation;
  message.waits_for_receive = false;
  message.end = Message::End::open;
  message.is_thrown_away = false;
  return message;
}

Message& Connection::new_control() {
  Message& message = new_message();
  message.send_operation = no_operation;
  message.send_is_open = true;
  message.size = Bytes(0);
  message.wire_size = static_cast<std::uint64_t>(note_size.count());
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
    if (to_accept_ == &message) accept(left_ + in_flight());
    if (is_queued(message)) queue_->add(message.wire_size, 0);
    return;
  }
  in_flight_ = last_ = &message;
  lead_ = 0;
  lost_bytes_ = false;
  start_transfer(message, world_.network().start_of(route_, static_cast<double>(message.wire_size)), true);
}

/// Bytes that are in flight and have not arrived.
std::uint64_t Connection::in_flight() const {
  return part_ == 0 || waits_for_bytes_ ? 0 : static_cast<std::uint64_t>(in_flight_->comm->get_remaining());
}

void Connection::part_over(Message& message, bool succeeded) {
  if (message.share_timer != nullptr) message.share_timer->remove();
  message.share_timer = nullptr;
  if (is_queued(message)) {
    if (std::exchange(lost_bytes_, false)) succeeded = false;
    waits_for_bytes_ = succeeded && queue_->size() < part_;
    if (waits_for_bytes_) return;
    succeeded ? queue_->take(part_) : queue_->drop(part_ + left_);
  }
  part_ = 0;
  if (succeeded && left_ > 0) {
    std::swap(message.comm, message.other_comm);
    // It pays no latency: the message has paid it already.
    return start_part(message, std::numeric_limits<double>::infinity());
  }
  // Starts the next message first, so that a stream of messages slows work down without interruption.
  start_next();
  sender_.simulated_device().message_over();
  receiver_.simulated_device().message_over();
  if (std::exchange(message.send_is_open, false) && message.send_operation != no_operation)
    sender_.finish(message.send_operation, succeeded);
  if (message.is_thrown_away) return recycle(message);
  if (message.asked_by != no_operation) {
    succeeded ? receiver_.answer(sender_, message.asked_by) : sender_.finish(message.asked_by, false);
    return recycle(message);
  }
  if (message.receive_operation == no_operation) {
    message.end = succeeded ? Message::End::arrived : Message::End::failed;
    return;
  }
  receiver_.finish(message.receive_operation, succeeded);
  recycle(message);
}

void Connection::start_next() {
  if (to_accept_ == in_flight_) to_accept_ = in_flight_->next_to_start;
  in_flight_ = in_flight_->next_to_start;
  if (in_flight_ == nullptr) return Network::note_pause(route_);
  if (!in_flight_->send_is_open) accepted_behind_ -= in_flight_->wire_size;
  start_transfer(*in_flight_, {}, false);
}

void Connection::start_transfer(Message& message, const Network::Start& start, bool is_alone) {
  sender_.simulated_device().message_set_out();
  receiver_.simulated_device().message_set_out();
  left_ = message.wire_size;
  if (!sender_.host().is_on() || !receiver_.host().is_on()) return part_over(message, false);
  message.terms = world_.network().terms_of(route_, static_cast<double>(message.wire_size), lead_);
  message.terms.latency_s += start.late_s;
  if (is_queued(message)) {
    queue_->set_terms(message.terms);
    message.terms.penalty = route_.narrowing->penalty;
    if (is_alone) queue_->add(message.wire_size, start.late_s);
  } else {
    ahead_ = static_cast<std::uint64_t>(start.ahead);
  }
  start_part(message, s4u::Engine::get_clock() - message.ready_at_s);
}

/// Starts the part of the message after which the next send is complete, or all that is left.
void Connection::start_part(Message& message, double waited_s) {
  std::uint64_t size = left_;
  if (held_ > 0) {
    accept(left_);
    if (to_accept_ != nullptr) size = std::min(left_, bytes_until(*to_accept_, left_) - held_);
  }
  const bool is_from_queue = is_queued(message);
  if (is_from_queue) {
    if (lost_bytes_) return part_over(message, false);
    size = std::min(size, queue_->portion());
    waits_for_bytes_ = size == 0;
    if (waits_for_bytes_) return;
  }
  left_ -= size;
  if (std::exchange(message.is_from_queue, is_from_queue) != is_from_queue)
    message.comm = message.other_comm = nullptr;  // they use other links
  s4u::CommPtr& comm = message.comm;
  if (!comm)
    comm = is_from_queue ? new_comm(message, route_.narrowing->after)
                         : new_comm(message, {&sender_.host(), &receiver_.host()});
  world_.network().prepare(message.terms, waited_s);
  comm->set_state(s4u::Activity::State::STARTING);
  // One byte at least: SimGrid ends an activity without bytes in another way.
  comm->set_payload_size(size == 0 ? 0 : std::max<std::uint64_t>(1, size - std::min(size, ahead_)));
  ahead_ = 0;
  comm->start();
  if (size == 0) return;
  part_ = size;
  // If a link is down, the activity ends immediately and SimGrid does not report it.
  if (comm->get_remaining() == 0) return part_over(message, false);
  world_.network().started(message.share_timer);
}

/// More of the current message can be taken from the queue, or it was lost before it.
void Connection::bytes_queued(bool succeeded) {
  lost_bytes_ = lost_bytes_ || !succeeded;
  if (!std::exchange(waits_for_bytes_, false)) return;
  if (part_ > 0 || lost_bytes_) return part_over(*in_flight_, succeeded);
  start_part(*in_flight_, left_ == in_flight_->wire_size ? s4u::Engine::get_clock() - in_flight_->ready_at_s
                                                         : std::numeric_limits<double>::infinity());
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
    if (message.send_operation != no_operation) sender_.finish(message.send_operation, true);
  }
}

}  // namespace tandem::sim

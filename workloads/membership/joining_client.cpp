#include "workloads/membership/joining_client.hpp"

#include <utility>

namespace tandem {

/// One that means an earlier incarnation of the server was sent before its sender knew.
void JoiningSlot::on_message(const Completion& last, int server) {
  const auto arrival = protocol::as<protocol::Arrived>(last.note);
  if (last.outcome != Outcome::done || !arrival || arrival->receiver != server) return;
  arrived = arrival->incarnation;
  has_declined = arrival->ends;
}

void JoiningSlot::leave(Context& context, Pending& open, int server) {
  draining.push_back(context.disconnect(rank));
  if (!open.empty()) {
    if (context.is_done(open))
      on_message(context.wait(open), server);
    else
      draining.push_back(std::move(open));
  }
  is_joining = false;
}

void JoiningSlot::begin(int of_occupant) {
  is_joining = true;
  incarnation = of_occupant;
}

bool JoiningSlot::await_arrival(Context& context, const Completion& last, Pending& next, int server) {
  on_message(last, server);
  if (!draining.empty()) {
    next = std::move(draining.back());
    draining.pop_back();
    return false;
  }
  if (arrived >= incarnation) return true;
  next = protocol::receive<"arrivals">(context, rank);
  return false;
}

void JoiningClient::be_absent() {
  JoiningSlot::be_absent();
  has_ended = true;
}

void JoiningClient::leave(Context& context, Pending& open, int server) {
  JoiningSlot::leave(context, open, server);
  has_ended = true;
}

JoiningClient::Join JoiningClient::advance(Context& context, const Completion& last, Pending& next,
                                           int server) {
  if (!await_arrival(context, last, next, server)) return Join::waits;
  is_joining = false;
  if (has_declined && arrived == incarnation) return Join::declined;
  has_ended = false;
  welcomed = incarnation;
  draining.push_back(
      protocol::send<"welcomes">(context, rank, protocol::Welcome{.incarnation = incarnation},
                                 {Bytes(sizeof(welcomed)), reinterpret_cast<std::byte*>(&welcomed)}));
  return Join::joined;
}

}  // namespace tandem

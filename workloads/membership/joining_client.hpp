// A client of a rank that serves several. Its slot may have one occupant after the other: the open
// operations with one that is gone end, then the next one begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

/// How the next occupant of the slot joins. The rank that serves knows whether an occupant is there.
struct JoiningSlot {
  Rank rank = 0;
  bool is_joining = false;             ///< waits for the end of operations with the last occupant
  int incarnation = 1;                 ///< of the occupant that joins, or has joined
  int arrived = 1;                     ///< incarnation of the last occupant that has arrived
  bool has_declined = false;           ///< this occupant will ask for nothing
  std::vector<Pending> draining = {};  ///< its welcome, and open operations with earlier occupants

  /// No occupant is there as the job begins, or as the server joins it.
  void be_absent() { incarnation = arrived = 0; }
  /// The occupant is gone. `open`: the awaited receive of its next message, or empty. `server`: incarnation
  /// of the rank that serves.
  void leave(Context& context, Pending& open, int server);
  /// Another one begins; await_arrival follows.
  void begin(int of_occupant);
  /// Advances the join. False: it waits for `next`. True: the operations with earlier occupants have ended,
  /// and the one that joins has arrived. `last`: the operation for which the join has waited; none at first.
  /// A later occupant than the one that joins may have arrived: then the note about the departure of the
  /// earlier one follows.
  bool await_arrival(Context& context, const Completion& last, Pending& next, int server);

 private:
  void on_message(const Completion& last, int server);
};

/// The same, for a rank that knows nothing else of its clients.
struct JoiningClient : JoiningSlot {
  int worker = -1;            ///< its slot among the workers of its job; -1: it is no worker
  bool has_ended = false;     ///< it sends no further request, or is absent
  std::int32_t welcomed = 0;  ///< incarnation of the last occupant that was welcomed

  void be_absent();
  void leave(Context& context, Pending& open, int server);
  bool is_present() const { return !has_ended || is_joining; }
  enum class Join { waits, joined, declined };
  /// As await_arrival, and welcomes the occupant that has arrived.
  Join advance(Context& context, const Completion& last, Pending& next, int server);
};

/// The client of a worker among those of its server; null: another one serves that worker.
template <class Clients>
auto* client_of_worker(Clients& clients, int worker) {
  const auto found = std::ranges::find(clients, worker, &JoiningClient::worker);
  return found == clients.end() ? nullptr : &*found;
}

/// The handshake of a rank that joins a rank that serves it. Runs at the same time as JoiningClient::advance
/// there. `receiver`: incarnation of this rank. `wait`: returns how the operation ended. False: `is_there`
/// was false.
template <class Wait, class IsThere>
bool join_server(Context& context, Rank server, int incarnation, int receiver, const Wait& wait,
                 const IsThere& is_there) {
  Pending arrival = protocol::send<"arrivals">(
      context, server, protocol::Arrived{.incarnation = incarnation, .receiver = receiver});
  // A server that has not noticed a departure yet may welcome the occupant that is gone.
  std::int32_t welcomed = 0;
  while (welcomed != incarnation && is_there()) {
    std::int32_t named = 0;
    Pending welcome = protocol::receive<"welcomes">(
        context, server, {Bytes(sizeof(named)), reinterpret_cast<std::byte*>(&named)});
    if (wait(welcome).outcome == Outcome::done) welcomed = named;
  }
  wait(arrival);
  return welcomed == incarnation;
}

}  // namespace tandem

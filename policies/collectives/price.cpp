// What schedules cost: on a uniform network in closed form, and on one whose channels are shared.
#include <algorithm>

#include "policies/collectives/network.hpp"

namespace tandem::collectives {
namespace {

/// When each participant's ports and processor are free again.
struct Clock {
  double send = 0.0;
  double receive = 0.0;
  double reduce = 0.0;
  double last() const { return std::max({send, receive, reduce}); }
};

/// The rounds of all participants that have the same number.
using AllRounds = std::vector<Round>;

/// The transfer by which the receiver takes what `self` sends it in this round.
const Transfer& matching(const Round& round, int self, const Transfer& sent) {
  const auto found = std::find_if(round.begin(), round.end(), [&](const Transfer& transfer) {
    return transfer.kind != Transfer::Kind::send && transfer.peer == self && transfer.piece == sent.piece;
  });
  TANDEM_CHECK(found != round.end(), "sender", self, "receiver", sent.peer);
  return *found;
}

/// Calls `visit(sender, transfer)` for each message of the rounds.
template <class Visit>
void for_messages(const AllRounds& rounds, const Visit& visit) {
  for (std::size_t self = 0; self < rounds.size(); ++self)
    for (const Transfer& transfer : rounds[self])
      if (transfer.kind == Transfer::Kind::send) visit(static_cast<int>(self), transfer);
}

/// Calls `play(rounds, clocks)` for each round; it advances the clocks.
template <class Play>
Seconds play_rounds(const std::vector<Schedule>& schedules, const Play& play) {
  std::vector<Clock> clocks(schedules.size());
  AllRounds rounds(schedules.size());
  const std::size_t count = schedules.empty() ? 0 : schedules.front().rounds.size();
  for (std::size_t number = 0; number < count; ++number) {
    for (std::size_t self = 0; self < rounds.size(); ++self)
      schedules[self].rounds.read(number, rounds[self]);
    for (Clock& clock : clocks) clock = {clock.last(), clock.last(), clock.last()};
    play(rounds, clocks);
  }
  double end = 0.0;
  for (const Clock& clock : clocks) end = std::max(end, clock.last());
  return Seconds(end);
}

Bytes bytes_of(const Piece& piece, Bytes element_size) { return Bytes(piece.size() * element_size.count()); }
double count_of(Bytes bytes) { return static_cast<double>(bytes.count()); }

/// The elements that the sender of a message sends to its receiver in the same round.
struct ToReceiver {
  std::int64_t until_it = 0;  ///< with the message itself
  std::int64_t all = 0;
};
ToReceiver to_receiver(const Round& round, const Transfer& sent) {
  ToReceiver sum;
  bool is_past = false;
  for (const Transfer& transfer : round) {
    if (transfer.kind != Transfer::Kind::send || transfer.peer != sent.peer) continue;
    sum.all += transfer.piece.size();
    if (!is_past) sum.until_it += transfer.piece.size();
    is_past = is_past || transfer.piece == sent.piece;
  }
  return sum;
}

}  // namespace

Seconds price(const MakeSchedule& make, const Groups& groups, std::int64_t elements, Bytes element_size,
              const LinkCost& cost) {
  std::vector<Schedule> schedules;
  const Schedules of = make.schedules(groups);
  for (int self = 0; self < groups.participants(); ++self) schedules.push_back(of(self, elements));
  // A message starts when both its ends are in the round and their ports are free; messages of one sender go
  // in schedule order.
  const bool is_alone = groups.participants() < 2;
  const Seconds start = is_alone ? Seconds(0.0) : cost.start;
  return start + play_rounds(schedules, [&](const AllRounds& rounds, std::vector<Clock>& clocks) {
           for_messages(rounds, [&](int self, const Transfer& sent) {
             Clock& sender = clocks[static_cast<std::size_t>(self)];
             Clock& receiver = clocks[static_cast<std::size_t>(sent.peer)];
             const auto& arrival = matching(rounds[static_cast<std::size_t>(sent.peer)], self, sent);
             const double bytes = count_of(bytes_of(sent.piece, element_size));
             const bool is_first =
                 to_receiver(rounds[static_cast<std::size_t>(self)], sent).until_it == sent.piece.size();
             const double latency = is_first ? cost.alpha.count() : 0.0;
             const double end = std::max(sender.send, receiver.receive) + latency + bytes * cost.beta;
             sender.send = end;
             receiver.receive = end;
             if (arrival.kind == Transfer::Kind::receive_and_reduce)
               receiver.reduce = std::max(receiver.reduce, end) + bytes * cost.gamma;
           });
         });
}

Seconds price(const std::vector<Schedule>& schedules, Bytes element_size, const Network& network,
              const ReduceTime& reduce) {
  std::vector<double> entered(schedules.size());
  std::vector<double> load(network.channels.size());
  return play_rounds(schedules, [&](const AllRounds& rounds, std::vector<Clock>& clocks) {
    std::fill(load.begin(), load.end(), 0.0);
    for (std::size_t self = 0; self < clocks.size(); ++self) entered[self] = clocks[self].send;
    for_messages(rounds, [&](int self, const Transfer& sent) {
      for (const int channel : network.route(self, sent.peer).channels)
        load[static_cast<std::size_t>(channel)] += count_of(bytes_of(sent.piece, element_size));
    });
    for_messages(rounds, [&](int self, const Transfer& sent) {
      const auto from = static_cast<std::size_t>(self);
      const auto to = static_cast<std::size_t>(sent.peer);
      const Bytes bytes = bytes_of(sent.piece, element_size);
      const auto& arrival = matching(rounds[to], self, sent);
      const ToReceiver there = to_receiver(rounds[from], sent);
      double slowest = 0.0;
      const Network::Route& route = network.route(self, sent.peer);
      for (const int index : route.channels) {
        const auto& channel = network.channels[static_cast<std::size_t>(index)];
        const double carried = channel.shared ? load[static_cast<std::size_t>(index)]
                                              : count_of(bytes_of({0, there.all}, element_size));
        slowest = std::max(slowest, carried * channel.seconds_per_byte);
      }
      // Messages to one receiver arrive one after the other.
      const double share = static_cast<double>(there.until_it) / static_cast<double>(there.all);
      const double end = std::max(entered[from], entered[to]) + route.latency.count() + slowest * share;
      clocks[from].send = std::max(clocks[from].send, end);
      clocks[to].receive = std::max(clocks[to].receive, end);
      if (arrival.kind == Transfer::Kind::receive_and_reduce)
        clocks[to].reduce = std::max(clocks[to].reduce, end) + reduce(sent.peer, bytes).count();
    });
  });
}

}  // namespace tandem::collectives

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
    return transfer.kind != Transfer::Kind::send && transfer.peer == self;
  });
  TANDEM_CHECK(found != round.end() && found->piece == sent.piece, "sender", self, "receiver", sent.peer);
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

}  // namespace

Seconds price(const MakeSchedule& make, const Groups& groups, std::int64_t elements, Bytes element_size,
              const LinkCost& cost) {
  std::vector<Schedule> schedules;
  const Schedules of = make.schedules(groups);
  for (int self = 0; self < groups.participants(); ++self) schedules.push_back(of(self, elements));
  // A message starts when both its ends are in the round and their ports are free; messages of one sender go
  // in schedule order.
  return play_rounds(schedules, [&](const AllRounds& rounds, std::vector<Clock>& clocks) {
    for_messages(rounds, [&](int self, const Transfer& sent) {
      Clock& sender = clocks[static_cast<std::size_t>(self)];
      Clock& receiver = clocks[static_cast<std::size_t>(sent.peer)];
      const auto& arrival = matching(rounds[static_cast<std::size_t>(sent.peer)], self, sent);
      const double bytes = count_of(bytes_of(sent.piece, element_size));
      const double end = std::max(sender.send, receiver.receive) + cost.alpha.count() + bytes * cost.beta;
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
      double slowest = 0.0;
      const Network::Route& route = network.route(self, sent.peer);
      for (const int index : route.channels) {
        const auto& channel = network.channels[static_cast<std::size_t>(index)];
        const double carried = channel.shared ? load[static_cast<std::size_t>(index)] : count_of(bytes);
        slowest = std::max(slowest, carried * channel.seconds_per_byte);
      }
      const double end = std::max(entered[from], entered[to]) + route.latency.count() + slowest;
      clocks[from].send = std::max(clocks[from].send, end);
      clocks[to].receive = std::max(clocks[to].receive, end);
      if (arrival.kind == Transfer::Kind::receive_and_reduce)
        clocks[to].reduce = std::max(clocks[to].reduce, end) + reduce(sent.peer, bytes).count();
    });
  });
}

}  // namespace tandem::collectives

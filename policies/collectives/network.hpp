// A network as the price of an all-reduce needs it: what messages between participants cross, and share.
#pragma once

#include <functional>
#include <vector>

#include "policies/collectives/schedule.hpp"

namespace tandem::collectives {

/// Participants stand at places, several at one if need be.
struct Network {
  struct Channel {
    double seconds_per_byte = 0.0;
    bool shared = true;  ///< false: every message has it to itself
  };
  struct Way {
    Seconds latency{0.0};
    std::vector<int> channels = {};  ///< indices into `channels`
  };
  std::vector<Channel> channels;
  std::vector<int> place_of;  ///< by participant
  int places = 0;
  std::vector<Way> ways;  ///< places x places; from a place to itself, too

  const Way& way(int from, int to) const {
    const auto place = [this](int participant) {
      return static_cast<std::size_t>(place_of[static_cast<std::size_t>(participant)]);
    };
    return ways[place(from) * static_cast<std::size_t>(places) + place(to)];
  }
};

/// How long a participant takes to reduce so many bytes.
using ReduceTime = std::function<Seconds(int participant, Bytes size)>;

/// Price of the schedules of all participants on a network whose channels are shared: a message starts when
/// both its ends are in the round, and takes the latency of its way and as long as the slowest channel on it
/// takes for all messages of that round that cross it. A participant reduces one piece after the other. Exact
/// where all keep step; then equal to the closed form on a uniform network. Messages of different rounds are
/// taken not to meet: where some participants pass rounds in which others fold, the price may be a fifth low.
Seconds price(const std::vector<Schedule>& schedules, Bytes element_size, const Network& network,
              const ReduceTime& reduce);

}  // namespace tandem::collectives

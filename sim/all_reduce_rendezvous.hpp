// All-reduces of the library: which ranks have started which one, and their sums. Independent of simulated
// time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "workloads/context.hpp"

namespace tandem::sim {

class RankContext;

/// An all-reduce that all its members start.
struct AllReduceRendezvous {
  struct Member {
    RankContext* context = nullptr;  ///< null: the member has not started it
    std::uint32_t number = 0;        ///< of the member's operation
    Slice vector;
  };
  Channel channel;
  Bytes size{0};
  collectives::Element element;
  std::vector<Member> members;  ///< in the order of their list
  std::size_t missing = 0;

  /// Gives every member the sum, added in the order of their list, or their parts. Members without memory add
  /// nothing. Pre: every member has started it.
  void sum() const;
};

class AllReduceRendezvousTable {
 public:
  /// The rank starts its next all-reduce over the members. Returns the all-reduce if this rank was the last
  /// to start it; otherwise null. Pre: the rank is one of the members, and all start the same ones in the
  /// same order.
  std::unique_ptr<AllReduceRendezvous> join(std::span<const Rank> members, Channel channel, Rank rank,
                                            const AllReduceRendezvous::Member& self,
                                            const collectives::Element& element);

 private:
  /// The all-reduces over one list of members.
  struct Series {
    std::deque<std::unique_ptr<AllReduceRendezvous>> open;  ///< some members have not started these
    std::uint64_t met = 0;                                  ///< all-reduces that all members have started
    std::vector<std::uint64_t> started;                     ///< by member
  };
  std::map<std::vector<Rank>, Series> series_;
};

}  // namespace tandem::sim

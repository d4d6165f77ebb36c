// A collective as data: the pieces that each participant sends, receives and reduces, round by round. Pure
// functions make schedules; one interpreter (workloads/exchange/schedule_runner.hpp) runs any of them on any
// context.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::collectives {

/// A contiguous range of elements, in units of elements of the reduced vector.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Piece&) const = default;
};

/// One point-to-point transfer of a round, seen from one participant. Empty pieces are never scheduled.
struct Transfer {
  enum class Kind { send, receive, receive_and_reduce } kind;
  int peer;  ///< index of the other participant
  Piece piece;
  bool operator==(const Transfer&) const = default;
};

/// All transfers of a round start together; the round ends when all have ended. Received pieces of one round
/// overlap neither each other nor the pieces sent in that round. The only exception is an exchange: two
/// participants send each other the same piece, and each reduces what it receives. The value sent is the one
/// before the reduction. Messages from one participant to another arrive in the order of the list, which is
/// the same at both ends.
using Round = std::vector<Transfer>;

/// The rounds of one participant, read one at a time. A schedule of few rounds keeps them in a table; one of
/// thousands keeps a rule that computes each round, so that its memory does not grow with their number.
class Rounds {
 public:
  /// Adds the transfers of round `number` to `round`.
  using Rule = std::function<void(std::size_t number, Round& round)>;

  Rounds() = default;
  Rounds(const std::vector<Round>& table);
  Rounds(std::size_t count, Rule rule) : count_(count), rule_(std::move(rule)) {}

  std::size_t size() const { return count_; }
  /// Replaces the content of `round`, without allocating if it has had as many transfers before. Pre: number
  /// < size().
  void read(std::size_t number, Round& round) const;
  /// Adds the transfers of a round to `round`. Pre: number < size().
  void add(std::size_t number, Round& round) const;
  Round operator[](std::size_t number) const;
  Round front() const { return (*this)[0]; }
  bool operator==(const Rounds& other) const;

  /// Returns each round by value.
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Round;
    using iterator_category = std::input_iterator_tag;
    Iterator(const Rounds& rounds, std::size_t number) : rounds_(&rounds), number_(number) {}
    Round operator*() const { return (*rounds_)[number_]; }
    Iterator& operator++() {
      ++number_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Rounds* rounds_;
    std::size_t number_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, count_}; }

 private:
  std::size_t count_ = 0;
  Rule rule_;                      ///< empty: the table is used
  std::vector<Transfer> table_;    ///< the transfers of all rounds
  std::vector<std::size_t> ends_;  ///< of each round in the table
};

struct Schedule {
  Rounds rounds;
};

/// Totals over the rounds of a schedule.
struct Extent {
  std::size_t most_transfers = 0;  ///< of one round
  std::int64_t messages = 0;       ///< that the participant sends
  std::int64_t most_reduced = 0;   ///< most elements that one round receives to reduce
  std::int64_t sent = 0;           ///< elements
  std::int64_t received = 0;       ///< elements
};
Extent extent_of(const Schedule& schedule);

/// Participants 0, 1, ... in groups of participants that are near each other. The numbers of a group are
/// consecutive.
class Groups {
 public:
  /// One group of all participants; converts implicitly from their number.
  Groups(int size) : sizes_{size}, participants_(size) {}
  /// Pre: at least one group; none is empty.
  explicit Groups(std::vector<int> sizes);
  const std::vector<int>& sizes() const { return sizes_; }
  int participants() const { return participants_; }

 private:
  std::vector<int> sizes_;
  int participants_;
};

/// The schedules of certain participants: the part of an all-reduce of `elements` elements that participant
/// `self` performs. Pre: 0 <= self < participants, elements >= 0.
using Schedules = std::function<Schedule(int self, std::int64_t elements)>;

/// Makes the schedules of a collective. Most need only the number of participants.
class MakeSchedule {
 public:
  /// The schedule of one participant.
  using OfOne = Schedule (*)(int self, const Groups& groups, std::int64_t elements);
  /// The schedules of all participants, for a collective whose participants can share expensive computations.
  using OfAll = Schedules (*)(const Groups& groups);

  MakeSchedule(OfOne one) : of_one_(one) {}
  MakeSchedule(OfOne one, OfAll all) : of_one_(one), of_all_(all) {}

  Schedule operator()(int self, const Groups& groups, std::int64_t elements) const {
    return of_one_(self, groups, elements);
  }
  /// The schedules of all participants. Making each takes time in proportion to its own rounds.
  Schedules schedules(const Groups& groups) const;
  bool operator==(const MakeSchedule&) const = default;

 private:
  OfOne of_one_;
  OfAll of_all_ = nullptr;
};

/// Elements [0, elements) cut in `parts` pieces whose sizes differ by at most one, larger ones first.
class Parts {
 public:
  Parts(std::int64_t elements, int parts) : smallest_(elements / parts), larger_(elements % parts) {}
  Piece operator[](std::int64_t index) const { return {begin_of(index), begin_of(index + 1)}; }

 private:
  std::int64_t begin_of(std::int64_t part) const { return part * smallest_ + std::min(part, larger_); }
  std::int64_t smallest_;
  std::int64_t larger_;  ///< how many parts have one more element
};
inline Piece part_of(std::int64_t elements, int parts, int index) { return Parts(elements, parts)[index]; }

/// Cost of one message: latency, seconds per byte, and seconds per byte reduced; and of a collective as a
/// whole, whatever its hops.
struct LinkCost {
  Seconds alpha;
  double beta;         ///< s/B
  double gamma;        ///< s/B
  Seconds start{0.0};  ///< once, if there is more than one participant
};
/// Closed-form price of any schedule on a uniform full-duplex network where a participant sends and receives
/// one message at a time: rounds are matched message by message, so unequal pieces are priced exactly.
/// Successive messages of a round from one participant to another have one latency together, and the first
/// is reduced while the next arrives.
Seconds price(const MakeSchedule& make, const Groups& groups, std::int64_t elements, Bytes element_size,
              const LinkCost& cost);
/// The price of a collective among two or three participants that are like all others.
using PriceOfFew = std::function<Seconds(int participants, std::int64_t elements)>;
struct ManyCost {
  Seconds time;
  std::int64_t sent;  ///< elements, by all participants
};
/// The same of very many participants in one group, without their schedules: a ring has as many messages as
/// the square of its participants. Exact where pieces are equal. None: the collective has no such form
/// (binary-blocks and double-tree). Pre: at least two participants.
std::optional<ManyCost> cost_of_many(const MakeSchedule& make, int participants, std::int64_t elements,
                                     const PriceOfFew& few);

/// The number of each participant in a schedule, and the groups of the numbers.
struct Arrangement {
  std::vector<int> order;   ///< participant order[i] acts as number i
  std::vector<int> groups;  ///< sizes; the numbers of a group are consecutive
};
/// The schedules of participants with this arrangement. Pre: the order names each participant once.
Schedules arranged(const MakeSchedule& make, const Arrangement& arrangement);
/// The schedules of several copies of a collective, at the same time: copy i works on part i of the vector
/// (Parts) with its own arrangement, so that the copies can use different links. Pre: at least one
/// arrangement; all are of the same participants.
Schedules in_copies(const MakeSchedule& make, std::span<const Arrangement> arrangements);
/// The arrangement restricted to `members`, as indices of `members`. Pre: the order names each of them.
Arrangement among(const Arrangement& arrangement, std::span<const int> members);

/// An all-gather: the vector has `elements` elements of each participant, in the order of their numbers. Each
/// participant starts with its own. It takes size - 1 rounds and moves (size - 1) size `elements` elements.
Schedule ring_gather(int self, const Groups& groups, std::int64_t elements);
/// The same in ceil(lg size) rounds. Source: Bruck et al.: Efficient Algorithms for All-to-All Communications
/// in Multiport Message-Passing Systems. IEEE Trans. Parallel Distrib. Syst. 8(11), 1997.
Schedule doubling_gather(int self, const Groups& groups, std::int64_t elements);
/// The all-gather for messages that cannot be added, where workers chose this all-reduce: around a ring if
/// that works by rings, otherwise by doubling.
MakeSchedule gather_of(const MakeSchedule& all_reduce);

const Catalog<MakeSchedule>& catalog();
/// Whether groups change the schedule, and not the number of participants alone.
bool takes_groups(const MakeSchedule& make);

}  // namespace tandem::collectives

#include "policies/collectives/schedule.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

namespace tandem::collectives {

Rounds::Rounds(const std::vector<Round>& table) : count_(table.size()) {
  ends_.reserve(count_);
  std::size_t transfers = 0;
  for (const Round& round : table) transfers += round.size();
  table_.reserve(transfers);
  for (const Round& round : table) {
    table_.insert(table_.end(), round.begin(), round.end());
    ends_.push_back(table_.size());
  }
}

void Rounds::read(std::size_t number, Round& round) const {
  round.clear();
  add(number, round);
}

void Rounds::add(std::size_t number, Round& round) const {
  TANDEM_CHECK(number < count_, "round", number, "rounds", count_);
  if (rule_) return rule_(number, round);
  const auto at = [this](std::size_t index) { return table_.begin() + static_cast<std::ptrdiff_t>(index); };
  round.insert(round.end(), at(number == 0 ? 0 : ends_[number - 1]), at(ends_[number]));
}

Round Rounds::operator[](std::size_t number) const {
  Round round;
  read(number, round);
  return round;
}

bool Rounds::operator==(const Rounds& other) const {
  if (count_ != other.count_) return false;
  for (std::size_t number = 0; number < count_; ++number)
    if ((*this)[number] != other[number]) return false;
  return true;
}

Extent extent_of(const Schedule& schedule) {
  Extent extent;
  Round round;
  for (std::size_t number = 0; number < schedule.rounds.size(); ++number) {
    schedule.rounds.read(number, round);
    extent.most_transfers = std::max(extent.most_transfers, round.size());
    std::int64_t reduced = 0;
    for (const Transfer& transfer : round) {
      const std::int64_t elements = transfer.piece.size();
      (transfer.kind == Transfer::Kind::send ? extent.sent : extent.received) += elements;
      if (transfer.kind == Transfer::Kind::send) ++extent.messages;
      if (transfer.kind == Transfer::Kind::receive_and_reduce) reduced += elements;
    }
    extent.most_reduced = std::max(extent.most_reduced, reduced);
  }
  return extent;
}

Schedules MakeSchedule::schedules(const Groups& groups) const {
  if (of_all_ != nullptr) return of_all_(groups);
  return
      [of_one = of_one_, groups](int self, std::int64_t elements) { return of_one(self, groups, elements); };
}

Groups::Groups(std::vector<int> sizes)
    : sizes_(std::move(sizes)), participants_(std::accumulate(sizes_.begin(), sizes_.end(), 0)) {
  TANDEM_CHECK(!sizes_.empty(), "groups", sizes_.size());
  for (const int size : sizes_) TANDEM_CHECK(size > 0, "group of", size);
}

namespace {

/// The index of each value in a list of distinct values below `count`; `absent` for a value that is not in
/// the list.
constexpr int absent = -1;
std::vector<int> positions_of(std::span<const int> values, std::size_t count) {
  std::vector<int> positions(count, absent);
  for (std::size_t at = 0; at < values.size(); ++at)
    positions[static_cast<std::size_t>(values[at])] = static_cast<int>(at);
  return positions;
}

/// The same rounds with participants instead of numbers as peers.
Rounds renamed(Rounds rounds, std::shared_ptr<const std::vector<int>> participant_of) {
  const std::size_t count = rounds.size();
  return {count, [rounds = std::move(rounds), participant_of = std::move(participant_of)](std::size_t number,
                                                                                          Round& round) {
            const std::size_t before = round.size();
            rounds.add(number, round);
            for (std::size_t i = before; i < round.size(); ++i)
              round[i].peer = (*participant_of)[static_cast<std::size_t>(round[i].peer)];
          }};
}

}  // namespace

Schedules arranged(const MakeSchedule& make, const Arrangement& arrangement) {
  Schedules by_number = make.schedules(Groups(arrangement.groups));
  if (std::is_sorted(arrangement.order.begin(), arrangement.order.end())) return by_number;
  auto order = std::make_shared<const std::vector<int>>(arrangement.order);
  return [by_number = std::move(by_number), numbers = positions_of(*order, order->size()),
          order = std::move(order)](int self, std::int64_t elements) {
    return Schedule{renamed(by_number(numbers.at(static_cast<std::size_t>(self)), elements).rounds, order)};
  };
}

namespace {

struct Copy {
  Rounds rounds;
  std::int64_t begin;  ///< of its part of the vector
};

/// Round r of the result has rounds r of all copies.
Rounds together(std::vector<Copy> copies) {
  std::size_t count = 0;
  for (const Copy& copy : copies) count = std::max(count, copy.rounds.size());
  return {count, [copies = std::make_shared<const std::vector<Copy>>(std::move(copies))](std::size_t number,
                                                                                         Round& round) {
            for (const Copy& copy : *copies) {
              if (number >= copy.rounds.size()) continue;
              const std::size_t before = round.size();
              copy.rounds.add(number, round);
              for (std::size_t i = before; i < round.size(); ++i) {
                round[i].piece.begin += copy.begin;
                round[i].piece.end += copy.begin;
              }
            }
          }};
}

}  // namespace

Schedules in_copies(const MakeSchedule& make, std::span<const Arrangement> arrangements) {
  TANDEM_CHECK(!arrangements.empty(), "arrangements", arrangements.size());
  if (arrangements.size() == 1) return arranged(make, arrangements.front());
  auto copies = std::make_shared<std::vector<Schedules>>();
  for (const Arrangement& arrangement : arrangements) copies->push_back(arranged(make, arrangement));
  return [copies = std::shared_ptr<const std::vector<Schedules>>(std::move(copies))](int self,
                                                                                     std::int64_t elements) {
    const Parts parts(elements, static_cast<int>(copies->size()));
    std::vector<Copy> own;
    for (std::size_t i = 0; i < copies->size(); ++i) {
      const Piece part = parts[static_cast<std::int64_t>(i)];
      own.push_back({(*copies)[i](self, part.size()).rounds, part.begin});
    }
    return Schedule{together(std::move(own))};
  };
}

Arrangement among(const Arrangement& arrangement, std::span<const int> members) {
  const std::vector<int> indices = positions_of(members, arrangement.order.size());
  Arrangement left;
  std::size_t at = 0;
  for (const int size : arrangement.groups) {
    int remaining = 0;
    for (const std::size_t end = at + static_cast<std::size_t>(size); at < end; ++at) {
      const int index = indices[static_cast<std::size_t>(arrangement.order[at])];
      if (index == absent) continue;
      left.order.push_back(index);
      ++remaining;
    }
    if (remaining > 0) left.groups.push_back(remaining);
  }
  TANDEM_CHECK(left.order.size() == members.size(), "members", members.size(), "found", left.order.size());
  return left;
}

}  // namespace tandem::collectives

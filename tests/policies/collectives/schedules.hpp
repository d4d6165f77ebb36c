// Shared by the tests of schedules: the schedules of all participants, and counts over them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <vector>

#include "policies/collectives/schedule.hpp"

namespace tandem::collectives {

inline constexpr int most_participants = 33;

inline std::vector<Schedule> schedules_of(MakeSchedule make, const Groups& groups, std::int64_t elements) {
  std::vector<Schedule> schedules;
  for (int self = 0; self < groups.participants(); ++self) schedules.push_back(make(self, groups, elements));
  return schedules;
}

inline std::set<std::int64_t> element_counts(int size) {
  return {0, 1, 2, 5, std::max(0, size - 1), size, size + 1, 2 * size, 97, 1000};
}

inline bool receives(const Transfer& transfer) { return transfer.kind != Transfer::Kind::send; }

/// The largest power of two that is at most `size`.
inline int acting_of(int size) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(size))); }
inline int floor_lg(int size) { return static_cast<int>(std::bit_width(static_cast<unsigned>(size))) - 1; }
inline int ceil_lg(int size) { return size == acting_of(size) ? floor_lg(size) : floor_lg(size) + 1; }

/// The exponents e_1 > e_2 > ... of the powers of two that add up to `size`.
inline std::vector<int> block_exponents(int size) {
  std::vector<int> exponents;
  for (int rest = size; rest > 0; rest -= acting_of(rest)) exponents.push_back(floor_lg(rest));
  return exponents;
}

}  // namespace tandem::collectives

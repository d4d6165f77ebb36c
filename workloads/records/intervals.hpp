// Sets of disjoint intervals of time: their union, their common part, their length. Pure.
#pragma once

#include <algorithm>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

struct Interval {
  Seconds begin;
  Seconds end;
};
using Intervals = std::vector<Interval>;

/// The union as disjoint intervals in order of time.
inline Intervals united(Intervals all) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  Intervals apart;
  for (const Interval& next : all) {
    if (!apart.empty() && next.begin <= apart.back().end)
      apart.back().end = std::max(apart.back().end, next.end);
    else
      apart.push_back(next);
  }
  return apart;
}

/// Pre: disjoint.
inline Seconds length(const Intervals& apart) {
  Seconds sum{};
  for (const Interval& interval : apart) sum += interval.end - interval.begin;
  return sum;
}

/// Time that is in both. Pre: both are disjoint and in order of time.
inline Seconds common(const Intervals& a, const Intervals& b) {
  Seconds sum{};
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Seconds begin = std::max(a[i].begin, b[j].begin), end = std::min(a[i].end, b[j].end);
    if (end > begin) sum += end - begin;
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return sum;
}

/// Time that is in one interval and in others. Pre: the others are disjoint and in order of time.
inline Seconds common(const Interval& one, const Intervals& others) {
  Seconds sum{};
  auto next = std::ranges::upper_bound(others, one.begin, {}, &Interval::end);
  for (; next != others.end() && next->begin < one.end; ++next)
    sum += std::min(one.end, next->end) - std::max(one.begin, next->begin);
  return sum;
}

}  // namespace tandem

#include "workloads/trace/intervals.hpp"

#include <algorithm>

namespace tandem::trace {

void append(Spans& sorted, Span span) {
  if (!sorted.empty() && span.begin <= sorted.back().end)
    sorted.back().end = std::max(sorted.back().end, span.end);
  else
    sorted.push_back(span);
}

Spans union_of(Spans spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  Spans merged;
  for (const Span& span : spans) append(merged, span);
  return merged;
}

Nanoseconds length(const Spans& sorted) {
  Nanoseconds total = 0;
  for (const Span& span : sorted) total += span.duration();
  return total;
}

Nanoseconds common(const Spans& a, const Spans& b) {
  Nanoseconds total = 0;
  for (auto one = a.begin(), other = b.begin(); one != a.end() && other != b.end();) {
    total += std::max<Nanoseconds>(0, std::min(one->end, other->end) - std::max(one->begin, other->begin));
    if (one->end < other->end)
      ++one;
    else
      ++other;
  }
  return total;
}

Spans clip(const Spans& sorted, Span limits) {
  Spans inside;
  for (auto span = std::ranges::upper_bound(sorted, limits.begin, {}, &Span::end);
       span != sorted.end() && span->begin < limits.end; ++span)
    inside.push_back({std::max(span->begin, limits.begin), std::min(span->end, limits.end)});
  return inside;
}

Nanoseconds covered(const Spans& sorted, Span span) { return length(clip(sorted, span)); }

Nanoseconds median(std::vector<Nanoseconds> times) {
  if (times.empty()) return 0;
  std::ranges::sort(times);
  const std::size_t middle = times.size() / 2;
  if (times.size() % 2 == 1) return times[middle];
  return times[middle - 1] + (times[middle] - times[middle - 1]) / 2;
}

}  // namespace tandem::trace

// Arithmetic of times, and of sets of times: sorted lists of spans that do not touch.
#pragma once

#include <vector>

#include "workloads/trace/trace.hpp"

namespace tandem::trace {

using Spans = std::vector<Span>;

/// Adds to a set. Pre: the span begins no earlier than any in it.
void append(Spans& sorted, Span span);
/// The times that are in at least one of the spans.
Spans union_of(Spans spans);
Nanoseconds length(const Spans& sorted);
/// Length of the times that are in both.
Nanoseconds common(const Spans& a, const Spans& b);
/// The part within `limits`.
Spans clip(const Spans& sorted, Span limits);
/// Time of `span` that `sorted` covers.
Nanoseconds covered(const Spans& sorted, Span span);

/// The mean of the middle two of an even number; 0 for an empty list.
Nanoseconds median(std::vector<Nanoseconds> times);

}  // namespace tandem::trace

// Arithmetic of times, and of sets of times: sorted lists of spans that do not touch.
#pragma once

#include <vector>

#include "workloads/trace/trace.hpp"

namespace tandem::trace {

using Spans = std::vector<Span>;

/// What at least one of the spans covers.
Spans union_of(Spans spans);
Nanoseconds length(const Spans& sorted);
/// Time that both cover.
Nanoseconds common(const Spans& a, const Spans& b);
/// The part within `limits`.
Spans clip(const Spans& sorted, Span limits);
/// Time of `span` that `sorted` covers.
Nanoseconds covered(const Spans& sorted, Span span);

/// Of an even number the mean of the middle two; 0 of none.
Nanoseconds median(std::vector<Nanoseconds> times);

}  // namespace tandem::trace

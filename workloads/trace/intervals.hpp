// Arithmetic of sets of times, each a sorted list of spans that do not touch.
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

}  // namespace tandem::trace

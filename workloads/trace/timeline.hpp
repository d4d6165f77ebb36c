// One step of a trace by streams of the GPU: what it computed, and which communication was hidden. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workloads/trace/findings.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

enum class BlockKind { forward, backward, optimizer, other, hidden, exposed, memory };

/// "hidden communication".
std::string name_of(BlockKind kind);

struct TimelineBlock {
  Span span;  ///< after the step's first event on the GPU
  BlockKind kind = BlockKind::other;

  bool operator==(const TimelineBlock&) const = default;
};

struct TimelineLane {
  int stream = 0;
  std::vector<TimelineBlock> blocks;  ///< by begin
};

struct Timeline {
  int step = 0;  ///< its number
  Nanoseconds length = 0;
  std::vector<TimelineLane> lanes;  ///< by stream
  std::size_t left_out = 0;         ///< streams that have the least work
  std::vector<Nanoseconds> ready;   ///< of the buckets
};

/// The timeline of the last step that counts, or the last one that launches something; empty where none does.
/// Gaps of less than a two-thousandth of the step between blocks of one kind are filled.
Timeline timeline_of(const Trace& trace, const RankFindings& findings);

}  // namespace tandem::trace

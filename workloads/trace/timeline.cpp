#include "workloads/trace/timeline.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "workloads/trace/intervals.hpp"

namespace tandem::trace {
namespace {

BlockKind kind_of(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return BlockKind::forward;
    case Phase::backward:
      return BlockKind::backward;
    case Phase::optimizer:
      return BlockKind::optimizer;
    case Phase::other:
      break;
  }
  return BlockKind::other;
}

/// Index of the step that is drawn.
std::optional<std::size_t> drawn_step(const RankFindings& findings, const Steps& steps) {
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < std::min(findings.steps.size(), steps.all.size()); ++i) {
    if (steps.all[i].launched.empty()) continue;
    if (!last || findings.steps[i].is_inner || !findings.steps[*last].is_inner) last = i;
  }
  return last;
}

/// Communication in parts, each during computation or not. `computation`: sorted.
void add_communication(const Spans& computation, Span span, std::vector<TimelineBlock>& blocks) {
  Nanoseconds at = span.begin;
  for (const Span& hidden : clip(computation, span)) {
    if (hidden.begin > at) blocks.push_back({{at, hidden.begin}, BlockKind::exposed});
    blocks.push_back({hidden, BlockKind::hidden});
    at = hidden.end;
  }
  if (at < span.end) blocks.push_back({{at, span.end}, BlockKind::exposed});
}

void fill_gaps(std::vector<TimelineBlock>& blocks, Nanoseconds smallest) {
  std::ranges::stable_sort(blocks, {}, [](const TimelineBlock& block) { return block.span.begin; });
  std::vector<TimelineBlock> joined;
  for (const TimelineBlock& block : blocks) {
    const bool continues = !joined.empty() && joined.back().kind == block.kind &&
                           block.span.begin - joined.back().span.end <= smallest;
    if (continues)
      joined.back().span.end = std::max(joined.back().span.end, block.span.end);
    else
      joined.push_back(block);
  }
  blocks = std::move(joined);
}

Nanoseconds work_of(const TimelineLane& lane) {
  Nanoseconds sum = 0;
  for (const auto& block : lane.blocks) sum += block.span.duration();
  return sum;
}

}  // namespace

std::string name_of(BlockKind kind) {
  switch (kind) {
    case BlockKind::forward:
      return "forward pass";
    case BlockKind::backward:
      return "backward pass";
    case BlockKind::optimizer:
      return "optimiser";
    case BlockKind::other:
      return "other computation";
    case BlockKind::hidden:
      return "hidden communication";
    case BlockKind::exposed:
      return "exposed communication";
    case BlockKind::memory:
      break;
  }
  return "copies";
}

Timeline timeline_of(const Trace& trace, const RankFindings& findings) {
  constexpr std::size_t most_lanes = 12;
  constexpr Nanoseconds finest = 2000;  // parts of the step
  Timeline timeline;
  const Steps steps = find_steps(trace);
  const auto drawn = drawn_step(findings, steps);
  if (!drawn) return timeline;
  const Step& step = steps.all[*drawn];
  timeline.step = step.number;
  const Nanoseconds begin = findings.steps[*drawn].begin;
  timeline.length = step.window ? step.window->duration() : 0;
  const auto from_begin = [&](Span span) { return Span{span.begin - begin, span.end - begin}; };
  Spans computation;
  for (const std::uint32_t index : step.launched) {
    const DeviceEvent& event = trace.device[index];
    timeline.length = std::max(timeline.length, event.span.end - begin);
    if (event.work == DeviceWork::computation) computation.push_back(from_begin(event.span));
  }
  computation = union_of(std::move(computation));
  const auto phases = phases_of_launched(trace, step);
  std::map<int, std::vector<TimelineBlock>> streams;
  for (std::size_t i = 0; i < step.launched.size(); ++i) {
    const DeviceEvent& event = trace.device[step.launched[i]];
    auto& blocks = streams[event.stream];
    if (event.work == DeviceWork::communication)
      add_communication(computation, from_begin(event.span), blocks);
    else
      blocks.push_back({from_begin(event.span),
                        event.work == DeviceWork::memory ? BlockKind::memory : kind_of(phases[i])});
  }
  for (auto& [stream, blocks] : streams) {
    fill_gaps(blocks, timeline.length / finest);
    timeline.lanes.push_back({stream, std::move(blocks)});
  }
  if (timeline.lanes.size() > most_lanes) {
    timeline.left_out = timeline.lanes.size() - most_lanes;
    std::ranges::stable_sort(timeline.lanes, std::ranges::greater(), work_of);
    timeline.lanes.resize(most_lanes);
    std::ranges::sort(timeline.lanes, {}, &TimelineLane::stream);
  }
  for (const auto& bucket : findings.steps[*drawn].buckets)
    if (bucket.collective.ready) timeline.ready.push_back(*bucket.collective.ready - begin);
  return timeline;
}

}  // namespace tandem::trace

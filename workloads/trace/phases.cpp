#include "workloads/trace/phases.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "workloads/trace/event.hpp"

namespace tandem::trace {
namespace {

constexpr std::string_view node_mark = "autograd::engine::evaluate_function: ";

/// What of the CPU belongs to a step, each list by begin.
struct HostEvents {
  std::vector<const HostEvent*> nodes, operators, modules;
  Spans updates;  ///< of the optimiser
};

HostEvents host_events_of(const Trace& trace, const Span& step) {
  HostEvents found;
  std::vector<const HostEvent*> bare_nodes;
  const auto first = std::ranges::lower_bound(trace.host, step.begin, {},
                                              [](const HostEvent& event) { return event.span.begin; });
  for (auto event = first; event != trace.host.end() && event->span.begin < step.end; ++event) {
    const std::string& name = trace.text(event->name);
    if (name.starts_with(node_mark))
      found.nodes.push_back(&*event);
    else if (is_bare_node(name))
      bare_nodes.push_back(&*event);
    else if (name.starts_with("Optimizer.step"))
      found.updates.push_back(event->span);
    else if (name.starts_with("nn.Module: "))
      found.modules.push_back(&*event);
    else if (event->sequence >= 0)
      found.operators.push_back(&*event);
  }
  if (found.nodes.empty()) found.nodes = std::move(bare_nodes);
  found.updates = union_of(std::move(found.updates));
  return found;
}

/// The last event that begins at or before this time; null: none.
const HostEvent* last_before(const std::vector<const HostEvent*>& events, Nanoseconds time) {
  const auto behind =
      std::ranges::upper_bound(events, time, {}, [](const auto* event) { return event->span.begin; });
  return behind == events.begin() ? nullptr : *std::prev(behind);
}

/// The innermost event of this thread that contains the time; null: none among the last ones before it.
const HostEvent* innermost(const std::vector<const HostEvent*>& events, TextId thread, Nanoseconds time) {
  constexpr int most = 256;
  auto at = std::ranges::upper_bound(events, time, {}, [](const auto* event) { return event->span.begin; });
  for (int seen = 0; at != events.begin() && seen < most; ++seen) {
    --at;
    if ((*at)->thread == thread && (*at)->span.contains(time)) return *at;
  }
  return nullptr;
}

/// The first size of the images that the first convolution has: "[[64,3,224,224],[64,3,7,7]]" is 64.
int samples_of(const std::vector<Layer>& layers) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (layer->forward.find("conv") == std::string::npos) continue;
    const auto digit = layer->shapes.find_first_of("0123456789");
    if (digit == std::string::npos || layer->shapes.find(',') < digit) continue;
    int samples = 0;
    const char* const text = layer->shapes.data();
    const auto read = std::from_chars(text + digit, text + layer->shapes.size(), samples);
    if (read.ec == std::errc() && samples > 0) return samples;
  }
  return 0;
}

struct NodeTime {
  Nanoseconds computation = 0;
  std::size_t kernels = 0;
};

/// Divides the kernels of one step between its phases.
class PhaseDivision {
 public:
  PhaseDivision(const Trace& trace, const Span& step) : trace_(trace), events_(host_events_of(trace, step)) {
    if (events_.nodes.empty()) return;
    phases_.backward_thread = events_.nodes.front()->thread;
    Span pass = events_.nodes.front()->span;
    for (const auto* node : events_.nodes) pass.end = std::max(pass.end, node->span.end);
    phases_.backward_pass = pass;
  }

  Phase phase_of(const Launch& launch) const {
    const Nanoseconds at = launch.span.begin;
    if (covered(events_.updates, {at, at + 1}) > 0) return Phase::optimizer;
    const bool has_begun = last_before(events_.nodes, at) != nullptr;
    if (has_begun && launch.thread == phases_.backward_thread) return Phase::backward;
    return has_begun ? Phase::other : Phase::forward;
  }

  void add(const DeviceEvent& kernel, const Launch& launch) {
    const Nanoseconds at = launch.span.begin, time = kernel.span.duration();
    switch (phase_of(launch)) {
      case Phase::optimizer:
        phases_.optimizer += time;
        return;
      case Phase::backward: {
        const HostEvent* node = last_before(events_.nodes, at);
        phases_.backward += time;
        auto& own = times_[node];
        own.computation += time;
        ++own.kernels;
        ++(node->span.contains(at) ? phases_.kernels_in_nodes : phases_.kernels_between_nodes);
        return;
      }
      case Phase::forward:
        phases_.forward += time;
        if (const auto* op = innermost(events_.operators, launch.thread, at))
          forward_times_[op->sequence] += time;
        return;
      case Phase::other:
        phases_.other += time;
    }
  }

  StepPhases finish() {
    const auto operators = operators_by_sequence();
    for (const auto* node : events_.nodes) {
      Layer layer;
      const std::string& name = trace_.text(node->name);
      layer.node = name.starts_with(node_mark) ? name.substr(node_mark.size()) : name;
      if (layer.node == "torch::autograd::AccumulateGrad") ++phases_.accumulated_gradients;
      const NodeTime own = times_[node];
      layer.backward_time = own.computation;
      layer.kernels = own.kernels;
      if (const auto found = operators.find(node->sequence); node->sequence >= 0 && found != operators.end())
        describe(*found->second, layer);
      phases_.layers.push_back(std::move(layer));
    }
    phases_.samples = samples_of(phases_.layers);
    return std::move(phases_);
  }

 private:
  /// If operators contain each other, the outermost one has the shapes of the layer; of several in a row,
  /// which have one number because the first ones have no node, the last one.
  std::unordered_map<std::int64_t, const HostEvent*> operators_by_sequence() const {
    std::unordered_map<std::int64_t, const HostEvent*> found;
    for (const auto* op : events_.operators) {
      const HostEvent*& known = found[op->sequence];
      if (known == nullptr || !known->span.contains(op->span.begin)) known = op;
    }
    return found;
  }

  void describe(const HostEvent& op, Layer& layer) {
    layer.forward = trace_.text(op.name);
    layer.shapes = trace_.text(op.shapes);
    layer.forward_time = forward_times_[op.sequence];
    if (const auto* module = innermost(events_.modules, op.thread, op.span.begin))
      layer.module = trace_.text(module->name);
  }

  const Trace& trace_;
  HostEvents events_;
  StepPhases phases_;
  std::unordered_map<const HostEvent*, NodeTime> times_;
  std::unordered_map<std::int64_t, Nanoseconds> forward_times_;  ///< by sequence number
};

}  // namespace

StepPhases phases_of(const Trace& trace, const Steps& steps, std::size_t step) {
  PhaseDivision division(trace, steps.all[step].host);
  for (const std::uint32_t index : steps.all[step].launched) {
    const DeviceEvent& event = trace.device[index];
    if (event.work == DeviceWork::computation) division.add(event, trace.launches[event.launch]);
  }
  return division.finish();
}

std::vector<Phase> phases_of_launched(const Trace& trace, const Step& step) {
  const PhaseDivision division(trace, step.host);
  std::vector<Phase> phases;
  for (const std::uint32_t index : step.launched) {
    const DeviceEvent& event = trace.device[index];
    const bool computes = event.work == DeviceWork::computation;
    phases.push_back(computes ? division.phase_of(trace.launches[event.launch]) : Phase::other);
  }
  return phases;
}

}  // namespace tandem::trace

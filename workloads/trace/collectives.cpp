#include "workloads/trace/collectives.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tandem::trace {
namespace {

/// Lower case letters alone: "_allgather_base" and "AllGather" become one text.
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const unsigned char c : name)
    if (std::isalpha(c) != 0) letters += static_cast<char>(std::tolower(c));
  return letters;
}

std::string_view without(std::string_view text, std::string_view beginning) {
  return text.starts_with(beginning) ? text.substr(beginning.size()) : text;
}

/// Records of the CPU that say something about collectives, by thread and begin.
class Records {
 public:
  explicit Records(const Trace& trace) : trace_(trace) {
    for (const auto& event : trace.host) {
      const std::string& name = trace.text(event.name);
      const bool is_library = name.starts_with("nccl:") || name.starts_with("gloo:");
      if (is_library || name == "record_param_comms") by_thread_[event.thread].push_back(&event);
    }
  }

  /// Those of the thread that contain the time, the outermost first.
  std::vector<const HostEvent*> around(TextId thread, Nanoseconds time) const {
    constexpr int deepest = 8;
    std::vector<const HostEvent*> found;
    const auto events = by_thread_.find(thread);
    if (events == by_thread_.end()) return found;
    auto at = std::ranges::upper_bound(events->second, time, {},
                                       [](const auto* event) { return event->span.begin; });
    for (int i = 0; i < deepest && at != events->second.begin(); ++i)
      if ((*--at)->span.contains(time)) found.push_back(*at);
    std::ranges::reverse(found);
    return found;
  }

  /// Each outermost record with those within it.
  template <class Use>
  void for_each_group(const Use& use) const {
    for (const auto& [thread, events] : by_thread_)
      for (auto first = events.begin(); first != events.end();) {
        auto behind = std::next(first);
        while (behind != events.end() && (*first)->span.contains((*behind)->span.begin)) ++behind;
        use(std::vector<const HostEvent*>(first, behind));
        first = behind;
      }
  }

  void describe(const std::vector<const HostEvent*>& records, Collective& collective) const {
    for (const auto* record : records) {
      if (record->collective != none) describe(trace_.collectives[record->collective], collective);
      const std::string_view name = trace_.text(record->name);
      const std::string_view operation = without(without(name, "nccl:"), "gloo:");
      if (operation == name) continue;
      if (collective.kind == CollectiveKind::unknown)
        collective.kind = collective_kind(std::string(operation));
      if (collective.elements > 0 || record->shapes == 0) continue;
      collective.elements = elements_of(trace_.text(record->shapes));
      collective.dtype = first_type(trace_.text(record->types));
      collective.element_bytes = bytes_of_type(collective.dtype);
    }
  }

  void describe(const CollectiveArgs& args, Collective& collective) const {
    if (collective.kind == CollectiveKind::unknown) collective.kind = collective_kind(trace_.text(args.name));
    if (collective.elements == 0 && args.in_elements > 0) {
      collective.elements = args.in_elements;
      collective.dtype = trace_.text(args.dtype);
      collective.element_bytes = bytes_of_type(collective.dtype);
    }
    if (collective.group.empty()) collective.group = trace_.text(args.group);
    if (collective.group_size == 0) collective.group_size = args.group_size;
    if (!collective.sequence) collective.sequence = args.sequence;
  }

 private:
  /// "float" of `["float","Scalar"]`.
  static std::string first_type(const std::string& types) {
    const auto begin = types.find('"');
    const auto end = begin == std::string::npos ? begin : types.find('"', begin + 1);
    return end == std::string::npos ? "" : types.substr(begin + 1, end - begin - 1);
  }

  const Trace& trace_;
  std::unordered_map<TextId, std::vector<const HostEvent*>> by_thread_;
};

/// When the work that the step launched before a time was complete on the GPU, communication aside.
class ReadyTimes {
 public:
  ReadyTimes(const Trace& trace, const Step& step) {
    for (const std::uint32_t index : step.launched) {
      const DeviceEvent& event = trace.device[index];
      if (event.work == DeviceWork::communication) continue;
      const Nanoseconds end = ends_.empty() ? event.span.end : std::max(ends_.back().second, event.span.end);
      ends_.emplace_back(trace.launches[event.launch].span.begin, end);
    }
  }
  std::optional<Nanoseconds> before(Nanoseconds launched) const {
    const auto behind =
        std::ranges::lower_bound(ends_, launched, {}, &std::pair<Nanoseconds, Nanoseconds>::first);
    return behind == ends_.begin() ? std::nullopt : std::optional(std::prev(behind)->second);
  }

 private:
  std::vector<std::pair<Nanoseconds, Nanoseconds>> ends_;  ///< by launch, each with the latest end so far
};

std::vector<Collective> collectives_of_kernels(const Trace& trace, const Records& records) {
  std::vector<Collective> found;
  for (const auto& event : trace.device) {
    if (event.work != DeviceWork::communication) continue;
    const Launch* launch = trace.launch_of(event);
    Collective one;
    one.kernel = event.span;
    one.launched = launch == nullptr ? event.span.begin : launch->span.begin;
    if (event.collective != none) records.describe(trace.collectives[event.collective], one);
    if (launch != nullptr) records.describe(records.around(launch->thread, launch->span.begin), one);
    if (one.kind == CollectiveKind::unknown) one.kind = collective_kind(trace.text(event.name));
    found.push_back(one);
  }
  return found;
}

/// Collectives of groups of one rank, and those that the CPU carries out, have records but no kernels.
void add_without_kernels(const Records& records, std::vector<Collective>& found) {
  std::vector<Nanoseconds> launches;
  for (const auto& one : found) launches.push_back(one.launched);
  std::ranges::sort(launches);
  records.for_each_group([&](const std::vector<const HostEvent*>& group) {
    const Span span = group.front()->span;
    const auto inside = std::ranges::lower_bound(launches, span.begin);
    if (inside != launches.end() && span.contains(*inside)) return;
    Collective one;
    one.launched = span.begin;
    records.describe(group, one);
    // "wait", "barrier" and "init" carry no data.
    if (one.kind != CollectiveKind::unknown && one.elements > 0) found.push_back(one);
  });
}

}  // namespace

std::vector<Collective> find_collectives(const Trace& trace, const Steps& steps,
                                         const std::vector<StepPhases>& phases) {
  const Records records(trace);
  std::vector<Collective> found = collectives_of_kernels(trace, records);
  add_without_kernels(records, found);
  std::ranges::stable_sort(found, {}, &Collective::launched);
  std::vector<ReadyTimes> ready;
  for (const Step& step : steps.all) ready.emplace_back(trace, step);
  for (Collective& one : found) {
    one.step = step_at(steps, one.launched);
    if (!one.step) continue;
    one.ready = ready[*one.step].before(one.launched);
    const auto& pass = phases[*one.step].backward_pass;
    one.in_backward = pass && pass->contains(one.launched);
  }
  return found;
}

std::vector<Bucket> buckets_of(const Trace& trace, const Step& step, const StepPhases& phases,
                               const std::vector<Collective>& collectives_of_step) {
  std::vector<Bucket> buckets;
  auto event = step.launched.begin();
  for (const auto& one : collectives_of_step) {
    if (!one.in_backward || one.kind != CollectiveKind::all_reduce) continue;
    Bucket bucket{one, 0};
    for (; event != step.launched.end(); ++event) {
      const DeviceEvent& kernel = trace.device[*event];
      const Launch& launch = trace.launches[kernel.launch];
      if (launch.span.begin >= one.launched) break;
      const bool is_backward =
          launch.thread == phases.backward_thread && launch.span.begin >= phases.backward_pass->begin;
      if (is_backward && kernel.work == DeviceWork::computation) bucket.computation += kernel.span.duration();
    }
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

CollectiveKind collective_kind(const std::string& name) {
  using Kind = CollectiveKind;
  // The first match counts: a reduce-scatter is no reduce.
  static constexpr std::array<std::pair<std::string_view, Kind>, 10> all = {
      {{"allreduce", Kind::all_reduce},
       {"reducescatter", Kind::reduce_scatter},
       {"allgather", Kind::all_gather},
       {"alltoall", Kind::all_to_all},
       {"broadcast", Kind::broadcast},
       {"sendrecv", Kind::point_to_point},
       {"send", Kind::point_to_point},
       {"recv", Kind::point_to_point},
       {"gather", Kind::all_gather},
       {"reduce", Kind::reduce}}};
  const std::string letters = letters_of(name);
  for (const auto& [part, kind] : all)
    if (letters.find(part) != std::string::npos) return kind;
  return Kind::unknown;
}

std::string name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all-reduce";
    case CollectiveKind::all_gather:
      return "all-gather";
    case CollectiveKind::reduce_scatter:
      return "reduce-scatter";
    case CollectiveKind::all_to_all:
      return "all-to-all";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::point_to_point:
      return "send and receive";
    case CollectiveKind::unknown:
      break;
  }
  return "unknown";
}

std::int64_t bytes_of_type(const std::string& dtype) {
  static const std::unordered_map<std::string_view, std::int64_t> all = {
      {"float", 4},      {"half", 2},    {"bfloat", 2}, {"chalf", 2},     {"cbfloat", 2},      {"double", 8},
      {"long", 8},       {"longint", 8}, {"int", 4},    {"short", 2},     {"unsignedchar", 1}, {"byte", 1},
      {"signedchar", 1}, {"char", 1},    {"bool", 1},   {"floatemfn", 1}, {"floatem", 1}};
  const auto found = all.find(letters_of(dtype));
  return found == all.end() ? 0 : found->second;
}

std::int64_t elements_of(const std::string& shapes) {
  constexpr std::int64_t most = std::int64_t{1} << 48U;
  std::int64_t sum = 0, number = -1, product = -1;  // -1: none of this tensor so far
  const auto end_number = [&] {
    if (number >= 0 && product >= 0)
      product = product > most / std::max<std::int64_t>(1, number) ? most : product * number;
    else if (number >= 0)
      product = number;
    number = -1;
  };
  for (const char c : shapes) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number = std::min(most, std::max<std::int64_t>(number, 0) * 10 + (c - '0'));
      continue;
    }
    end_number();
    if (c == '[' || c == ']') {
      sum = std::min(most, sum + std::max<std::int64_t>(0, product));
      product = -1;
    } else if (c != ',' && c != ' ') {
      return 0;
    }
  }
  return sum;
}

}  // namespace tandem::trace

// The events of one rank in a trace of PyTorch's profiler, as plain data. Hosts, users and paths of the
// file's metadata are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/trace/decimal_time.hpp"
#include "workloads/trace/text_pool.hpp"

namespace tandem::trace {

struct Span {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;

  Nanoseconds duration() const { return end - begin; }
  bool contains(Nanoseconds time) const { return begin <= time && time < end; }
  bool operator==(const Span&) const = default;
};

enum class DeviceWork : std::uint8_t { computation, communication, memory };

inline constexpr std::uint32_t none = 0xffffffff;

/// A kernel, copy or memset of a GPU.
struct DeviceEvent {
  Span span;
  std::uint64_t correlation = 0;
  std::uint64_t shape = 0;  ///< a hash of grid and block
  std::int64_t bytes = 0;   ///< of a copy
  TextId name = 0;
  std::uint32_t launch = none;      ///< index in Trace::launches
  std::uint32_t collective = none;  ///< index in Trace::collectives, if the event itself names it
  std::int32_t stream = 0;
  std::int32_t device = 0;
  DeviceWork work = DeviceWork::computation;
  bool is_kernel = false;
};

/// A call of the CUDA or HIP interface that may start work of a GPU.
struct Launch {
  Span span;
  std::uint64_t correlation = 0;
  TextId name = 0;
  TextId thread = 0;
};

/// An operator or annotation of the CPU that the analysis needs.
struct HostEvent {
  Span span;
  std::int64_t sequence = -1;  ///< the same for a forward operator and its node of the backward pass
  TextId name = 0;
  TextId thread = 0;
  TextId shapes = 0;  ///< of the inputs, as JSON text
  TextId types = 0;   ///< of the inputs, as JSON text
  std::uint32_t collective = none;
};

/// The collective in a record_param_comms or a kernel of NCCL.
struct CollectiveArgs {
  TextId name = 0;
  TextId dtype = 0;
  TextId group = 0;
  std::int32_t group_size = 0;
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::optional<std::uint64_t> sequence;  ///< "Seq"
};

struct Metadata {
  std::optional<int> rank;
  std::optional<int> world_size;
  std::string backend;
  std::map<std::int64_t, std::string> devices;  ///< names by number: of all devices of the host
  Nanoseconds base = 0;                         ///< times of events count from here
  bool has_stacks = false;
  bool has_shapes = false;
};

/// Numbers of events and places that were read and left out.
struct ReadingReport {
  std::uint64_t bytes = 0;               ///< of the unpacked text
  std::uint64_t events = 0;              ///< spans of the CPU and GPU, also those that are not kept
  std::uint64_t unusable_events = 0;     ///< without a name, or with an invalid time
  std::uint64_t device_events_at_0 = 0;  ///< lost: the profiler did not know the time
  std::uint64_t numbered_events = 0;     ///< of the CPU, with an "Ev Idx"
  std::int64_t first_number = -1;
  std::int64_t last_number = -1;
  std::uint64_t broken_places = 0;                 ///< where the text is not JSON
  std::optional<std::uint64_t> first_broken_byte;  ///< in the unpacked text
  std::optional<std::uint64_t> cut_at_byte;        ///< the text ends within an event
  std::string cut_because;                         ///< of the packed file; empty: the text itself ends
  bool is_empty_list = false;                      ///< the file is `[]`
};

struct Trace {
  std::string name;  ///< of the file
  Metadata metadata;
  ReadingReport report;
  TextPool texts;
  std::vector<DeviceEvent> device;  ///< by begin
  std::vector<Launch> launches;     ///< by correlation
  std::vector<HostEvent> host;      ///< by begin; of several with the same begin, the longest first
  std::vector<CollectiveArgs> collectives;

  const std::string& text(TextId id) const { return texts[id]; }
  const Launch* launch_of(const DeviceEvent& event) const {
    return event.launch == none ? nullptr : &launches[event.launch];
  }
};

}  // namespace tandem::trace

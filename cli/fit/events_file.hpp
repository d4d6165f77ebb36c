// Reads a table of events (CSV with a header): when nodes were added to a cluster and removed from it.
// Computes from it the lifetimes of the nodes, and the trace that the lifetime model `trace` replays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/fit/lifetimes_file.hpp"
#include "platforms/csv_table.hpp"

namespace tandem::cli {

struct NodeEvent {
  enum class Kind : std::uint8_t { add, remove, warn };
  double time = 0.0;  ///< seconds since the first event
  Kind kind = Kind::add;
  std::string node;
  std::string zone;  ///< empty where the table has none
};

struct EventsFile {
  std::string path;
  bool has_zones = false;
  std::optional<double> first;    ///< event, in seconds since 1970 (UTC); none: times are not on the clock
  std::vector<NodeEvent> events;  ///< in the order of time; each is possible for its node
};

/// Whether this is a table of events, not one of lifetimes.
bool has_events(const CsvTable& table);

/// Columns in any order: `time` (seconds, or with a unit; or ISO 8601 in UTC), `event` (add, remove or warn),
/// `node`; optional: `zone`. Other columns are ignored. A node whose first event is not `add` was there
/// before. Errors: ConfigError naming file and line, also for events that are not in the order of time, and
/// for a node that is added while it is there, or removed or warned while it is not.
EventsFile read_events(CsvTable table);

/// Each lifetime runs from the addition of a node to its removal, or to the last event if it was alive then
/// (censored). For nodes that were there before the first event, the age is unknown: their lifetimes begin
/// with the first event. In a table with warnings, nodes that were removed without a warning have failed;
/// all others were revoked.
LifetimesFile lifetimes_of(const EventsFile& file);

/// How many nodes were there before the first event.
std::size_t nodes_there_before(const EventsFile& file);

/// The option `events` of the model `trace`.
std::string trace_text(const EventsFile& file);

}  // namespace tandem::cli

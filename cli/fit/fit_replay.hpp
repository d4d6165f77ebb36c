// `tandem fit lifetimes` for models that replay a file instead of estimating from it: `trace` from events of
// nodes, `capacity-trace` from numbers of machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/fit/events_file.hpp"
#include "workloads/records/lifetimes_fit.hpp"

namespace tandem::cli {

/// A model that replays a file.
struct ReplayedFile {
  std::string file;
  ChosenLifetime chosen;
  nlohmann::json source;  ///< what is in the file
  std::string text;       ///< the same for people
};

/// The model `trace`.
ReplayedFile replay_events(const EventsFile& file);
/// The model `capacity-trace`, for a file {"metadata": {"gap_seconds": GAP}, "data": [NUMBER, ...]}. It has
/// one number of machines every GAP seconds; other keys are ignored. Errors: ConfigError naming file, line
/// and key.
ReplayedFile replay_capacity(const std::string& path);

}  // namespace tandem::cli

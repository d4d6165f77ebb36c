// `tandem fit lifetimes` for models that replay a file instead of estimating from it: `trace` from events of
// nodes, `capacity-trace` from numbers of machines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/fit/events_file.hpp"

namespace tandem::cli {

/// Name, options and source of the model `trace`.
nlohmann::json trace_document(const EventsFile& file);
/// The same of `capacity-trace`, for a file {"metadata": {"gap_seconds": GAP}, "data": [NUMBER, ...]}. It
/// has one number of machines every GAP seconds; other keys are ignored. Errors: ConfigError naming file,
/// line and key.
nlohmann::json capacity_document(const std::string& path);
/// Either document as text for people.
std::string replay_text(const nlohmann::json& document);

}  // namespace tandem::cli

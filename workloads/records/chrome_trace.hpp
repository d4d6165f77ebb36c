// Records as a Chrome trace, which Perfetto opens.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/records/result_directory.hpp"

namespace tandem {

/// One track per rank with a slice per step and, inside it, a slice per phase. If operations were recorded:
/// also a slice per computation and an arrow per message. If machines may depart, each worker's rank has
/// another track: a slice per machine, grey ones named "no machine" between them, and marks where a machine
/// is warned, departs, joins ... Time 0 is the earliest record.
nlohmann::json chrome_trace(const RunInfo& info, const Journal& journal);
/// A simulation and a measurement in one trace, one group of tracks each.
nlohmann::json chrome_trace(const Results& simulated, const Results& measured);
/// Errors: WorldError when the file cannot be written.
void write_trace(const std::string& path, const Results& simulated, const Results& measured);

}  // namespace tandem

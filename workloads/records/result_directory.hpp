// The result directory: same files from both worlds (see README, "Results"). Marked incomplete until
// finished.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/experiment/experiment.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// run.json: everything needed to repeat the run.
struct RunInfo {
  static constexpr int schema_version = 3;
  std::string world;  ///< "simulated" | "smpi" (the witness) | "measured"
  Experiment experiment;
  int repetition = 0;
  std::vector<std::string> roles;  ///< by rank: "worker", "server", ...
  std::vector<std::string> hosts;  ///< by rank
  nlohmann::json physics;          ///< effective network model and flags, or what the real network was
  nlohmann::json all_reduce;       ///< how workers summed, with a "summary" in words; null over a server
  nlohmann::json sharding;         ///< what servers hold, as describe_shards; null over another route
  nlohmann::json versions;
  std::string machine;
  std::string command;
  std::string profile;     ///< used by the simulation; empty: none
  std::string started;     ///< ISO 8601
  nlohmann::json resumed;  ///< the "directory" whose job it goes on with, after "round"; null: none
};

/// Of a rank; empty when it is not known.
std::string role_of(const RunInfo& info, Rank rank);
std::string host_of(const RunInfo& info, Rank rank);

nlohmann::json to_json(const RunInfo& info);
/// Inverse of to_json. Errors: ConfigError naming the key, or another schema version.
RunInfo run_info_from_json(const nlohmann::json& document);

/// Creates the directory with a file `INCOMPLETE` in it.
/// Errors: ConfigError when it exists and is not empty, unless `force` (then its old files are removed, if a
/// file in it shows that it is a result or report directory). WorldError when it cannot be written.
void create_result_directory(const std::string& path, bool force);
/// Writes run.json, summary.json, steps.csv, evaluations.csv, caches.csv, staleness.csv, trace.json, and
/// (when present in the journal) operations.csv and decisions.csv; then removes `INCOMPLETE`. `makespan`:
/// from start to the last rank's end.
void write_results(const std::string& path, const RunInfo& info, const Journal& journal, Seconds makespan,
                   bool trace);

struct Results {
  std::string path;
  RunInfo info;
  nlohmann::json summary;
  Journal journal;
};
/// Errors: ConfigError when missing, incomplete, or of another schema version.
Results read_results(const std::string& path);

/// Whether the step enters the statistics of steps: it is not one of its worker's first `warmup_steps`.
bool counts(const RunInfo& info, const StepRecord& step);
/// The figures of summary.json from the journal: those of metrics.hpp and statistics of steps. Documented key
/// by key in the README.
nlohmann::json summarise(const RunInfo& info, const Journal& journal, Seconds makespan);
/// Chrome trace format, opens in Perfetto: one track a rank, with a slice a step and in it one a phase; with
/// operations recorded also one a computation, marks for messages, and an arrow for each message. The clock
/// begins at 0 with the first thing that was recorded.
nlohmann::json chrome_trace(const RunInfo& info, const Journal& journal);
/// The same of two worlds in one trace, one group of tracks each.
nlohmann::json chrome_trace(const Results& simulated, const Results& measured);
/// Errors: WorldError when the file cannot be written.
void write_trace(const std::string& path, const Results& simulated, const Results& measured);

}  // namespace tandem

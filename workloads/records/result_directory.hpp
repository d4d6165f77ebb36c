// The result directory: simulations and measurements write the same files. It is marked incomplete until it
// is finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/money.hpp"
#include "policies/vocabulary/occupants.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/launches.hpp"
#include "workloads/records/records.hpp"
#include "workloads/records/summary.hpp"
#include "workloads/records/write_lock.hpp"

namespace tandem {

/// The origin of a resumed job.
struct ResumeOrigin {
  std::string directory;
  std::int64_t round = 0;
};

/// Whose network carried the messages. The page of this folder has the keys.
struct NetworkOrigin {
  std::string kind;  ///< "simulated" | "emulated cluster" | "real cluster" | "this machine"
  std::string of{};  ///< of simulations: "platform" | "this machine" | "real cluster" | "emulated cluster"
  std::optional<double> calibration_load{};  ///< of other programs, while the profile was measured
  std::optional<std::string> platform{}, machine{};
  std::optional<std::vector<std::string>> machines{};
  nlohmann::json cluster{};  ///< the emulated one
};

/// What one machine costs. Several hosts may be one machine.
struct MachinePrice {
  std::string machine{};
  std::vector<std::string> hosts{};
  Money per_hour{};
  Seconds step{1.0}, minimum{0.0};
  Seconds free_if_revoked_within{0.0};
  bool from_request = false;  ///< it is paid from its request, not from its boot on
  std::string offer{};        ///< empty: the platform states the price
  std::string date{};         ///< of the price; empty: not known
};

/// A disk with samples of the data set.
struct DataDisk {
  std::string host{};
  double read_bytes_per_s = 0;
};

/// Where a host is, as the platform file says; empty: it does not.
struct HostPlace {
  std::string region{};  ///< property region or tandem:region, or that of the offer
  std::string zone{};    ///< property tandem:zone
};

/// run.json: everything needed to repeat the run.
struct RunInfo {
  static constexpr int schema_version = 7;
  std::string world;  ///< "simulated" | "smpi" (the witness) | "measured"
  Experiment experiment;
  int repetition = 0;
  std::vector<std::string> roles;        ///< by rank: "worker", "server", ...
  std::vector<std::string> hosts;        ///< by rank
  std::optional<NetworkOrigin> network;  ///< none: not known
  /// Where the time of work comes from, or what computed: "catalogue" | "calibrated" | "fitted"
  /// (simulations), "emulated" | "cpu" | "gpu" (measurements). Empty: not known.
  std::string devices;
  nlohmann::json physics;     ///< effective network model and flags of the simulation, or the real network
  nlohmann::json all_reduce;  ///< how workers all-reduce, with a "summary" in words; null over a server
  nlohmann::json sharding;    ///< what servers hold, as describe_shards() gives it; null without servers
  nlohmann::json memory;      ///< estimated, as describe_memory() gives it; null: not known
  std::vector<std::string> question;  ///< the question of the job, by question_of(); empty: not known
  /// What its author may not have meant, as warnings_of() gives it, and GPUs that were throttled.
  std::vector<std::string> warnings;
  std::map<std::string, std::string> versions;
  std::string machine;
  std::string command;
  std::optional<EnsembleSummary> ensemble;  ///< of the simulations of which this is one; none: the only one
  std::string profile;                      ///< that the simulation used; empty: none
  std::string started;                      ///< ISO 8601
  std::optional<ResumeOrigin> resumed;      ///< none: a new job
  /// The launches of a job that started again because ranks died or machines departed, in their order. Empty:
  /// it did not.
  std::vector<LaunchRecord> generations;
  /// The zone of each worker's slot, where machines may depart: machines of equal zones fall together. Else
  /// empty.
  std::vector<std::size_t> zones;
  std::vector<SlotMachine> slot_machines;  ///< of each, if the provisioning policy asks; else empty
  /// The same, by host: those of which the platform says where they are.
  std::map<std::string, HostPlace> places;
  std::vector<MachinePrice> prices;  ///< of the machines of the job that have one
  /// Of stores, or without stores of cache nodes, one per host. Empty: none, or their rates are not known.
  std::vector<DataDisk> data_disks;
  /// The lifetimes of the machines whose loss stops the job, by slot: the "model" and its "options". Null:
  /// not known.
  nlohmann::json lifetimes;
};

/// The role of a rank; empty when unknown.
std::string role_of(const RunInfo& info, Rank rank);
std::string host_of(const RunInfo& info, Rank rank);

nlohmann::json to_json(const RunInfo& info);
/// The run.json of a result directory. Errors: as run_info_from_json, and without the file.
RunInfo read_run_info(const std::string& directory);
/// Inverse of to_json. `file`: for messages. Errors: ConfigError with the file and the key, or another schema
/// version.
RunInfo run_info_from_json(const nlohmann::json& document, const std::string& file = "");

/// Whether create_result_directory would accept the directory; changes nothing.
/// Errors: ConfigError when it is not empty, unless `force` and a file in it shows that it is a result or
/// report directory.
void check_result_directory(const std::string& path, bool force);
/// Whether create_result_directory made the directory, and no results were written into it since. A file
/// INCOMPLETE of another program does not count.
bool is_incomplete_result_directory(const std::string& path);
/// Creates the directory with a file `INCOMPLETE` in it; its old files are removed. Only the holder of the
/// returned lock may write into it.
/// Errors: ConfigError as check_result_directory, and when another process writes into the directory or one
/// below it. WorldError when it cannot be written.
[[nodiscard]] WriteLock create_result_directory(const std::string& path, bool force);
/// Writes run.json, summary.json, one CSV file for each list of records (operations.csv and decisions.csv
/// only if they have rows) and, with `trace`, trace.json; then removes `INCOMPLETE`. `makespan`: from the
/// start of the job to the end of its last rank.
void write_results(const std::string& path, const RunInfo& info, const Journal& journal, Seconds makespan,
                   bool trace);

/// Removes `INCOMPLETE`. Errors: WorldError.
void mark_complete(const std::string& path);
/// Adds to `INCOMPLETE` why the job failed. Pre: the caller holds the directory's lock. Errors: WorldError.
void mark_failed(const std::string& path, const std::string& reason);

/// `run`: the run.json of the directory, which states how many lines the writer gave each CSV file. Older
/// results do not. Errors: ConfigError with both numbers for a file that lost or gained lines.
void check_lines(const std::string& path, const nlohmann::json& run);

struct Results {
  std::string path;
  RunInfo info;
  Summary summary;
  Journal journal;
  std::optional<JobSummary> among_jobs{};  ///< of one of several jobs: its part of the summary of all
};
/// Errors: ConfigError when missing, incomplete, of another schema version, or as check_lines().
Results read_results(const std::string& path);

}  // namespace tandem

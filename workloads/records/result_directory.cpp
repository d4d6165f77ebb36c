#include "workloads/records/result_directory.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/columns.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* incomplete_mark = "INCOMPLETE";

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw WorldError("cannot write " + path.string());
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw ConfigError(path.string() + ": expected a file of a result directory, found none that can be read");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

json read_json(const fs::path& path) {
  try {
    return json::parse(read_file(path));
  } catch (const json::exception& error) {
    throw ConfigError(path.string() + ": " + error.what());
  }
}

template <class Record>
std::vector<Record> read_records(const fs::path& path, bool required) {
  if (!required && !fs::exists(path)) return {};
  return from_csv<Record>(path.string(), read_file(path));
}

/// Only what this program wrote may be deleted by --force: never somebody's home directory.
bool is_ours(const fs::path& path) {
  for (const char* mark : {"run.json", "report.json", incomplete_mark})
    if (fs::exists(path / mark)) return true;
  return false;
}

void prepare_directory(const fs::path& path, bool force) {
  if (fs::exists(path) && !fs::is_directory(path))
    throw ConfigError(path.string() + ": expected a directory, found a file");
  if (fs::exists(path) && !fs::is_empty(path)) {
    if (!force) throw ConfigError(path.string() + ": exists and is not empty; --force replaces its results");
    if (!is_ours(path))
      throw ConfigError(path.string() + ": not a result directory, so --force does not delete its files");
    std::vector<fs::path> old;
    for (const auto& entry : fs::directory_iterator(path)) old.push_back(entry.path());
    for (const auto& file : old) fs::remove_all(file);
  }
  fs::create_directories(path);
}

}  // namespace

std::string role_of(const RunInfo& info, Rank rank) {
  const auto index = static_cast<std::size_t>(rank);
  return rank >= 0 && index < info.roles.size() ? info.roles[index] : "";
}

std::string host_of(const RunInfo& info, Rank rank) {
  const auto index = static_cast<std::size_t>(rank);
  return rank >= 0 && index < info.hosts.size() ? info.hosts[index] : "";
}

json to_json(const RunInfo& info) {
  return {{"schema_version", RunInfo::schema_version},
          {"world", info.world},
          {"repetition", info.repetition},
          {"started", info.started},
          {"command", info.command},
          {"machine", info.machine},
          {"profile", info.profile},
          {"physics", info.physics},
          {"all_reduce", info.all_reduce},
          {"sharding", info.sharding},
          {"versions", info.versions},
          {"roles", info.roles},
          {"hosts", info.hosts},
          {"resumed", info.resumed},
          {"experiment", to_json(info.experiment)}};
}

RunInfo run_info_from_json(const json& document) {
  RunInfo info;
  try {
    const int version = document.at("schema_version").get<int>();
    if (version != RunInfo::schema_version)
      throw ConfigError("schema_version: expected " + std::to_string(RunInfo::schema_version) + ", found " +
                        std::to_string(version) +
                        ": written by another version of Tandem, which can read it");
    document.at("world").get_to(info.world);
    document.at("repetition").get_to(info.repetition);
    document.at("started").get_to(info.started);
    document.at("command").get_to(info.command);
    document.at("machine").get_to(info.machine);
    document.at("profile").get_to(info.profile);
    document.at("roles").get_to(info.roles);
    document.at("hosts").get_to(info.hosts);
    info.physics = document.at("physics");
    info.all_reduce = document.value("all_reduce", json());
    info.resumed = document.value("resumed", json());
    info.sharding = document.value("sharding", json());
    info.versions = document.at("versions");
    info.experiment = experiment_from_json(document.at("experiment"));
  } catch (const json::exception& error) {
    throw ConfigError(error.what());
  }
  if (info.world != "simulated" && info.world != "smpi" && info.world != "measured")
    throw ConfigError("world: expected simulated | smpi | measured, found '" + info.world + "'");
  return info;
}

void create_result_directory(const std::string& path, bool force) {
  try {
    prepare_directory(path, force);
    write_file(fs::path(path) / incomplete_mark, "The run that writes this directory has not ended.\n");
  } catch (const fs::filesystem_error& error) {
    throw WorldError(error.what());
  }
}

void write_results(const std::string& path, const RunInfo& info, const Journal& journal, Seconds makespan,
                   bool trace) {
  const fs::path directory(path);
  write_file(directory / "run.json", to_json(info).dump(2) + '\n');
  write_file(directory / "summary.json", summarise(info, journal, makespan).dump(2) + '\n');
  write_file(directory / "steps.csv", to_csv(journal.steps));
  write_file(directory / "evaluations.csv", to_csv(journal.evaluations));
  write_file(directory / "caches.csv", to_csv(journal.caches));
  write_file(directory / "staleness.csv", to_csv(journal.staleness));
  if (!journal.operations.empty()) write_file(directory / "operations.csv", to_csv(journal.operations));
  if (!journal.decisions.empty()) write_file(directory / "decisions.csv", to_csv(journal.decisions));
  if (trace) write_file(directory / "trace.json", chrome_trace(info, journal).dump());
  std::error_code error;
  fs::remove(directory / incomplete_mark, error);
  if (error) throw WorldError("cannot remove " + (directory / incomplete_mark).string());
}

Results read_results(const std::string& path) {
  const fs::path directory(path);
  if (!fs::is_directory(directory)) throw ConfigError(path + ": no such result directory");
  if (fs::exists(directory / incomplete_mark))
    throw ConfigError(path + ": incomplete, its run was interrupted or is still going on");
  Results results;
  results.path = path;
  const json run = read_json(directory / "run.json");
  try {
    results.info = run_info_from_json(run);
  } catch (const ConfigError& error) {
    throw ConfigError((directory / "run.json").string() + ": " + error.what());
  }
  results.summary = read_json(directory / "summary.json");
  Journal& journal = results.journal;
  journal.steps = read_records<StepRecord>(directory / "steps.csv", true);
  journal.evaluations = read_records<EvaluationRecord>(directory / "evaluations.csv", true);
  journal.caches = read_records<CacheRecord>(directory / "caches.csv", true);
  journal.staleness = read_records<StalenessRecord>(directory / "staleness.csv", true);
  journal.operations = read_records<OperationRecord>(directory / "operations.csv", false);
  journal.decisions = read_records<DecisionRecord>(directory / "decisions.csv", false);
  journal.keep_decisions = !journal.decisions.empty();
  journal.late_devices = results.summary.value("late_devices", std::int64_t{0});
  journal.cpu_wait = Seconds(results.summary.value("cpu_wait_s", 0.0));
  journal.other_load = results.summary.value("other_load", 0.0);
  journal.skipped_steps = results.summary.value("skipped_steps", std::int64_t{0});
  journal.dropped_samples = results.summary.value("dropped_samples", std::int64_t{0});
  return results;
}

}  // namespace tandem

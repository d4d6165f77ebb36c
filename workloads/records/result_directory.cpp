#include "workloads/records/result_directory.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <type_traits>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/records/chrome_trace.hpp"
#include "workloads/records/costs.hpp"
#include "workloads/records/csv_columns.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/membership_file.hpp"
#include "workloads/records/run_fields.hpp"
#include "workloads/records/summary.hpp"
#include "workloads/records/summary_fields.hpp"

namespace tandem {

namespace {

/// What says how to read the rest.
struct RunIdentity {
  int schema_version = 0;
  nlohmann::json experiment{};
};

}  // namespace

template <>
struct Fields<RunIdentity> {
  static void visit(auto& i, auto&& field) {
    field("schema_version", i.schema_version);
    field("experiment", i.experiment, Key::added);
  }
};

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* incomplete_mark = "INCOMPLETE";
constexpr const char* not_finished = "The run that writes this directory has not finished.\n";
constexpr const char* being_replaced = "its results were being replaced\n";

template <class Record>
std::string csv_of(const std::vector<Record>& records, const RunInfo&) {
  return to_csv(records);
}
std::string csv_of(const std::vector<MembershipRecord>& changes, const RunInfo& info) {
  return to_csv(with_places(changes, info.places));
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw WorldError("cannot write " + path.string());
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(path.string() + ": expected a file of a result directory, found no such file");
  return rest_of(file);
}

json read_json(const fs::path& path) { return read_json_file(path.string(), "a file of a result directory"); }

/// The journal has them, too.
void set_figures(const Summary& summary, Journal& journal) {
  journal.missed_deadlines = summary.missed_deadlines;
  journal.cpu_wait = summary.cpu_wait;
  journal.other_load = summary.other_load;
  journal.skipped_steps = summary.skipped_steps;
  journal.dropped_samples = summary.dropped_samples;
  journal.split_samples = summary.split_samples.value_or(0);
  if (!summary.membership) return;
  journal.counted_rounds = summary.membership->counted_rounds;
  journal.accepted_samples = summary.membership->accepted_samples;
  journal.discarded_messages = summary.membership->discarded_messages;
}

std::int64_t lines_in(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

/// --force may delete only files that this program wrote.
bool is_ours(const fs::path& path) {
  for (const char* mark :
       {"run.json", "report.json", "study.json", "plan.json", jobs_file_name, incomplete_mark})
    if (fs::exists(path / mark)) return true;
  return false;
}

/// The content of the directory, except the marks of a job that writes into it.
std::vector<fs::path> contents_of(const fs::path& path, const std::vector<std::string>& marks) {
  std::vector<fs::path> contents;
  for (const auto& entry : fs::directory_iterator(path))
    if (std::ranges::find(marks, entry.path().filename().string()) == marks.end())
      contents.push_back(entry.path());
  return contents;
}

void remove_old_files(const fs::path& path) {
  const auto old = contents_of(path, {incomplete_mark, lock_file_name});
  for (const auto& file : old)
    if (fs::is_directory(file)) expect_not_written(file.string());
  // An interrupted deletion leaves a directory that --force still recognises.
  std::ofstream(path / incomplete_mark) << being_replaced;
  for (const auto& file : old) fs::remove_all(file);
}

/// A row is about the slot of a worker, or, with slot -1, about all of them.
void check_slots(const fs::path& file, const Results& results) {
  const auto workers = std::ranges::count(results.info.roles, "worker");
  for (const auto& change : results.journal.membership)
    if (change.slot < -1 || change.slot >= workers)
      throw ConfigError(file.string() + ": expected slots of " + std::to_string(workers) +
                        " workers, found slot " + std::to_string(change.slot));
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
  json document = write_fields(info);
  document["experiment"] = to_json(info.experiment);
  return document;
}

RunInfo run_info_from_json(const json& document, const std::string& file) {
  const std::string in = file.empty() ? "" : file + ": ";
  const auto found = read_fields<RunIdentity>(document, file);
  if (found.schema_version != RunInfo::schema_version)
    throw ConfigError(in + "schema_version: expected " + std::to_string(RunInfo::schema_version) +
                      ", found " + std::to_string(found.schema_version) +
                      ": another version of Tandem wrote these results; read them with that version, or make "
                      "them again");
  auto info = read_fields<RunInfo>(document, file);
  if (info.world != "simulated" && info.world != "smpi" && info.world != "measured")
    throw ConfigError(in + "world: expected simulated | smpi | measured, found '" + info.world + "'");
  try {
    info.experiment = experiment_from_json(found.experiment);
  } catch (const ConfigError& error) {
    throw ConfigError(in + error.what());
  } catch (const json::exception& error) {
    throw ConfigError(in + error.what());
  }
  return info;
}

RunInfo read_run_info(const std::string& directory) {
  const fs::path file = fs::path(directory) / "run.json";
  return run_info_from_json(read_json(file), file.string());
}

json to_json(const Summary& summary) { return write_fields(summary); }

Summary summary_from_json(const json& document, const std::string& file) {
  return read_fields<Summary>(document, file);
}

Summary read_summary(const std::string& directory) {
  const fs::path file = fs::path(directory) / "summary.json";
  return summary_from_json(read_json(file), file.string());
}

void check_result_directory(const std::string& path, bool force) {
  if (!fs::exists(path)) return;
  if (!fs::is_directory(path)) throw ConfigError(path + ": expected a directory, found a file");
  if (contents_of(path, {lock_file_name}).empty()) return;
  if (!force) throw ConfigError(path + ": exists and is not empty; use --force to replace its results");
  if (!is_ours(path))
    throw ConfigError(path + ": not a result directory, so --force does not delete its files");
}

bool is_incomplete_result_directory(const std::string& path) {
  const fs::path mark = fs::path(path) / incomplete_mark;
  if (!fs::is_regular_file(mark)) return false;
  const std::string text = read_file(mark);
  return text.starts_with(not_finished) || text == being_replaced;
}

WriteLock create_result_directory(const std::string& path, bool force) {
  try {
    if (fs::exists(path) && !fs::is_directory(path)) check_result_directory(path, force);
    fs::create_directories(path);
    WriteLock lock(path);
    check_result_directory(path, force);
    remove_old_files(path);
    write_file(fs::path(path) / incomplete_mark, not_finished);
    return lock;
  } catch (const fs::filesystem_error& error) {
    throw WorldError(path + ": expected a directory that can be written, found: " + error.code().message());
  }
}

void mark_complete(const std::string& path) {
  std::error_code error;
  fs::remove(fs::path(path) / incomplete_mark, error);
  if (error) throw WorldError("cannot remove " + (fs::path(path) / incomplete_mark).string());
}

void mark_failed(const std::string& path, const std::string& reason) {
  write_file(fs::path(path) / incomplete_mark, not_finished + reason + '\n');
}

void write_results(const std::string& path, const RunInfo& info, const Journal& journal, Seconds makespan,
                   bool trace) {
  const fs::path directory(path);
  json run = to_json(info);
  json& lines = run["lines"] = json::object();
  visit_lists(journal, [&](const char* file, bool is_optional, const auto& records) {
    if (is_optional && records.empty()) return;
    // They grow with the epochs; the figures that follow from them are in summary.json.
    if (static_cast<const void*>(&records) == &journal.deliveries && journal.requests.empty()) return;
    const std::string text = csv_of(records, info);
    lines[file] = lines_in(text);
    write_file(directory / file, text);
  });
  if (!info.prices.empty()) {
    const std::string text = cost_csv(ledger_of(info, journal, makespan));
    lines["cost.csv"] = lines_in(text);
    write_file(directory / "cost.csv", text);
  }
  write_file(directory / "run.json", run.dump(2) + '\n');
  write_file(directory / "summary.json", to_json(summarise(info, journal, makespan)).dump(2) + '\n');
  if (trace) write_file(directory / "trace.json", chrome_trace(info, journal).dump());
  mark_complete(path);
}

void check_lines(const std::string& path, const json& run) {
  if (!run.contains("lines")) return;
  for (const auto& [file, expected] : run.at("lines").items()) {
    const fs::path own = fs::path(path) / file;
    if (const std::int64_t found = lines_in(read_file(own)); found != expected.get<std::int64_t>())
      throw ConfigError(own.string() + ": expected " + with_separators(expected.get<std::int64_t>()) +
                        " lines, as run.json says, found " + with_separators(found) +
                        ": the file is not as it was written; make the result again");
  }
}

Results read_results(const std::string& path) {
  const fs::path directory(path);
  if (!fs::is_directory(directory)) throw ConfigError(path + ": no such result directory");
  if (fs::exists(directory / incomplete_mark))
    throw ConfigError(path + ": incomplete: its run was interrupted or is still in progress");
  if (fs::exists(directory / jobs_file_name))
    throw ConfigError(path + ": expected the results of one job, found those of several: name one of " +
                      (directory / "jobs").string() + "/*");
  Results results;
  results.path = path;
  const json run = read_json(directory / "run.json");
  results.info = run_info_from_json(run, (directory / "run.json").string());
  check_lines(path, run);
  results.summary = read_summary(path);
  Journal& journal = results.journal;
  visit_lists(journal, [&](const char* file, bool is_optional, auto& records) {
    using Record = typename std::remove_cvref_t<decltype(records)>::value_type;
    const fs::path own = directory / file;
    if (!is_optional || fs::exists(own)) records = from_csv<Record>(own.string(), read_file(own));
  });
  check_slots(directory / "membership.csv", results);
  journal.keep_decisions = !journal.decisions.empty();
  set_figures(results.summary, journal);
  return results;
}

}  // namespace tandem

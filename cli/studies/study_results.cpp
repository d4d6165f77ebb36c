#include "cli/studies/study_results.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "policies/vocabulary/check.hpp"
#include "validation/campaign/sweep.hpp"
#include "validation/report/study_fields.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem {
namespace {

constexpr int study_folder_version = 2;

/// The file of an entry. The document is null where the configuration failed.
struct EntryFile {
  int version = study_folder_version;
  std::string hash{};
  std::string failure{};
  nlohmann::json document{};
};
/// The document of several jobs; of one it is that of its result.
struct SeveralDocument {
  std::vector<validation::StudyResult> jobs{};
  validation::StudyJobs several{};
  std::optional<std::optional<validation::StudyCapacity>> least_capacity{};
};

/// What says how to read the rest.
struct OnlyVersion {
  int version = 0;
};

}  // namespace

template <>
struct Fields<OnlyVersion> {
  static void visit(auto& v, auto&& field) { field("version", v.version); }
};

template <>
struct Fields<EntryFile> {
  static void visit(auto& e, auto&& field) {
    field("version", e.version);
    field("hash", e.hash);
    field("failure", e.failure);
    field("document", e.document);
  }
};

template <>
struct Fields<SeveralDocument> {
  static void visit(auto& d, auto&& field) {
    field("jobs", d.jobs);
    field("several_jobs", d.several);
    field("least_capacity", d.least_capacity, Key::optional);
  }
};

template <>
struct Fields<cli::StudyManifest> {
  static void visit(auto& m, auto&& field) {
    int version = study_folder_version;
    field("version", version);
    field("experiment", m.experiment_file);
    field("variant", m.variant);
    field("settings", m.settings);
    field("only", m.only);
    field("id", m.id);
    field("fidelity", m.fidelity, Key::optional);
  }
};

namespace cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void replace_file(const fs::path& path, const json& document) {
  fs::create_directories(path.parent_path());
  write_whole_file(path.string(), document.dump() + '\n');
}

std::string entry_path(const std::string& folder, const validation::SuiteConfiguration& configuration) {
  return folder + '/' + configuration.folder + ".json";
}

/// Errors: ConfigError where another version wrote the file.
json read_own_version(const std::string& path, const std::string& what) {
  json document = read_json_file(path, what);
  const int version = read_fields<OnlyVersion>(document, path + ": not " + what).version;
  if (version != study_folder_version)
    throw ConfigError(fmt::format("{}: version: expected {}, found {}: simulate the study again", path,
                                  study_folder_version, version));
  return document;
}

json document_of(const StudyEntry& entry) {
  if (!entry.failure.empty()) return nullptr;
  if (!entry.several) return write_fields(entry.results.front());
  SeveralDocument document{entry.results, *entry.several, std::nullopt};
  document.least_capacity.swap(document.several.least_capacity);
  return write_fields(document);
}

/// `path`: for messages.
StudyEntry entry_of(const json& document, const std::string& path) {
  if (!document.contains("jobs")) return {.results = {read_fields<validation::StudyResult>(document, path)}};
  auto read = read_fields<SeveralDocument>(document, path);
  read.several.least_capacity.swap(read.least_capacity);
  return {.results = std::move(read.jobs), .several = std::move(read.several)};
}

}  // namespace

void write_manifest(const std::string& folder, const StudyManifest& manifest) {
  replace_file(folder + "/study.json", write_fields(manifest));
}

std::optional<StudyManifest> read_manifest(const std::string& folder) {
  const std::string path = folder + "/study.json";
  if (!fs::exists(path)) return std::nullopt;
  const std::string what = "the manifest of a study";
  return read_fields<StudyManifest>(read_own_version(path, what), path + ": not " + what);
}

std::string study_command(const StudyManifest& manifest) {
  std::vector<std::string> words = {"study", manifest.experiment_file};
  if (!manifest.variant.empty()) words.insert(words.end(), {"--variant", manifest.variant});
  for (const auto& setting : manifest.settings) words.insert(words.end(), {"--set", setting});
  for (const auto& name : manifest.only) words.insert(words.end(), {"--only", name});
  if (manifest.fidelity != StudyManifest().fidelity)
    words.insert(words.end(), {"--fidelity", manifest.fidelity});
  return command_of(words);
}

void write_entry(const std::string& folder, const validation::SuiteConfiguration& configuration,
                 const StudyEntry& entry) {
  replace_file(entry_path(folder, configuration),
               write_fields(EntryFile{.hash = validation::content_hash(configuration),
                                      .failure = entry.failure,
                                      .document = document_of(entry)}));
}

std::optional<StudyEntry> read_entry(const std::string& folder,
                                     const validation::SuiteConfiguration& configuration) {
  const std::string path = entry_path(folder, configuration);
  if (!fs::exists(path)) return std::nullopt;
  const std::string what = "a result of a study";
  const auto file = read_fields<EntryFile>(read_own_version(path, what), path + ": not " + what);
  if (file.hash != validation::content_hash(configuration)) return std::nullopt;
  if (!file.failure.empty()) return StudyEntry{.failure = file.failure};
  return entry_of(file.document, path);
}

}  // namespace cli
}  // namespace tandem

#include "cli/study_results.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "policies/vocabulary/check.hpp"
#include "validation/campaign/sweep.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int study_folder_version = 2;

void replace_file(const fs::path& path, const json& document) {
  fs::create_directories(path.parent_path());
  write_whole_file(path.string(), document.dump() + '\n');
}

std::string entry_path(const std::string& folder, const validation::SuiteConfiguration& configuration) {
  return folder + '/' + configuration.folder + ".json";
}

/// `read`: takes what it needs of the document.
template <class Read>
auto read_or_refuse(const std::string& path, const std::string& what, Read&& read) {
  const json document = read_json_file(path, what);
  try {
    if (const int version = document.at("version"); version != study_folder_version)
      throw ConfigError(fmt::format("{}: version: expected {}, found {}: simulate the study again", path,
                                    study_folder_version, version));
    return read(document);
  } catch (const json::exception& error) {
    throw ConfigError(path + ": not " + what + ": " + error.what());
  }
}

}  // namespace

void write_manifest(const std::string& folder, const StudyManifest& manifest) {
  replace_file(folder + "/study.json", {{"version", study_folder_version},
                                        {"experiment", manifest.experiment_file},
                                        {"variant", manifest.variant},
                                        {"settings", manifest.settings},
                                        {"only", manifest.only},
                                        {"id", manifest.id}});
}

std::optional<StudyManifest> read_manifest(const std::string& folder) {
  const std::string path = folder + "/study.json";
  if (!fs::exists(path)) return std::nullopt;
  return read_or_refuse(path, "the manifest of a study", [](const json& document) {
    return StudyManifest{document.at("experiment"), document.at("variant"), document.at("settings"),
                         document.at("only"), document.at("id")};
  });
}

std::string study_command(const StudyManifest& manifest) {
  std::vector<std::string> words = {"study", manifest.experiment_file};
  if (!manifest.variant.empty()) words.insert(words.end(), {"--variant", manifest.variant});
  for (const auto& setting : manifest.settings) words.insert(words.end(), {"--set", setting});
  for (const auto& name : manifest.only) words.insert(words.end(), {"--only", name});
  return command_of(words);
}

void write_entry(const std::string& folder, const validation::SuiteConfiguration& configuration,
                 const StudyEntry& entry) {
  replace_file(entry_path(folder, configuration), {{"version", study_folder_version},
                                                   {"hash", validation::content_hash(configuration)},
                                                   {"failure", entry.failure},
                                                   {"document", entry.document}});
}

std::optional<StudyEntry> read_entry(const std::string& folder,
                                     const validation::SuiteConfiguration& configuration) {
  const std::string path = entry_path(folder, configuration);
  if (!fs::exists(path)) return std::nullopt;
  return read_or_refuse(path, "a result of a study", [&](const json& document) -> std::optional<StudyEntry> {
    if (document.at("hash") != validation::content_hash(configuration)) return std::nullopt;
    return StudyEntry{document.at("document"), document.at("failure")};
  });
}

}  // namespace tandem::cli

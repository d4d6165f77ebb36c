#include "workloads/learner/script_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies/vocabulary/digest.hpp"

namespace tandem {

// Found by the macros below through the argument's namespace.
static void to_json(nlohmann::json& json, const Flops& flops) { json = flops.count(); }
static void from_json(const nlohmann::json& json, Flops& flops) { flops = Flops(json.get<double>()); }
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorDescription, name, shape, statistic, offset)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BucketDescription, offset, parameters, statistics, forward, backward,
                                   shares_statistics)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModelDescription::Activations, kept, widest)

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Increase it when descriptions of the same model change.
constexpr int cache_version = 1;
/// Settings of one model that are kept.
constexpr std::size_t most_entries = 32;

json describe(const ModelDescription& model) {
  return {{"name", model.name},
          {"tensors", model.tensors},
          {"buckets", model.buckets},
          {"activations", model.activations ? json(*model.activations) : json()}};
}

ModelDescription description_from(const json& document) {
  ModelDescription model{
      .name = document.at("name"), .tensors = document.at("tensors"), .buckets = document.at("buckets")};
  if (const json& activations = document.at("activations"); !activations.is_null())
    model.activations = activations.get<ModelDescription::Activations>();
  return model;
}

/// Of all that a description depends on; empty: the model cannot be read.
std::string key_of(const LearnerSetting& setting) {
  std::ifstream file(setting.model, std::ios::binary);
  if (!file) return "";
  Digest digest;
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), std::ssize(block)) || file.gcount() > 0)
    digest.add({block.data(), static_cast<std::size_t>(file.gcount())});
  const DatasetInfo images = scaled_images(setting);
  digest.add(fmt::format("{} {} {}x{}x{} {} {} {}", cache_version, setting.model, images.channels,
                         images.height, images.width, images.classes, setting.bucket_bytes.count(),
                         static_cast<int>(setting.precision)));
  return digest.text();
}

/// Where a cache of the model may be, the best place first.
std::vector<fs::path> places_of(const LearnerSetting& setting) {
  std::vector<fs::path> places = {setting.model + ".description.json"};
  fs::path folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    folder = cache;
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    folder = fs::path(home) / ".cache";
  if (folder.empty()) return places;
  Digest path;
  path.add(fs::absolute(setting.model).lexically_normal().string());
  places.push_back(folder / "tandem" / (path.text() + ".description.json"));
  return places;
}

/// The entries of a cache; empty where there is none, or a damaged one.
json entries_in(const fs::path& place) {
  std::ifstream file(place);
  json entries = json::parse(file, nullptr, false);
  return entries.is_object() ? entries : json::object();
}

bool write(const fs::path& place, const json& entries) {
  std::error_code error;
  fs::create_directories(place.parent_path(), error);
  const fs::path temporary = fmt::format("{}.{}", place.string(), getpid());
  std::ofstream file(temporary);
  file << entries;
  file.close();
  if (file) fs::rename(temporary, place, error);
  const bool is_written = file && !error;
  if (!is_written) fs::remove(temporary, error);
  return is_written;
}

}  // namespace

std::optional<ModelDescription> cached_description(const LearnerSetting& setting) {
  const std::string key = key_of(setting);
  for (const auto& place : places_of(setting)) {
    const json entries = entries_in(place);
    if (!entries.contains(key)) continue;
    try {
      return description_from(entries.at(key));
    } catch (const json::exception&) {
      continue;
    }
  }
  return std::nullopt;
}

void keep_description(const LearnerSetting& setting, const ModelDescription& description) {
  const std::string key = key_of(setting);
  for (const auto& place : places_of(setting)) {
    json entries = entries_in(place);
    if (entries.size() >= most_entries) entries = json::object();
    entries[key] = describe(description);
    if (write(place, entries)) return;
  }
}

}  // namespace tandem

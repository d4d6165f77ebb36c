#include "workloads/learner/script_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/digest.hpp"
#include "workloads/files/whole_file.hpp"

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
constexpr int cache_version = 3;
/// The version with which this program was built: another one may order tensors and count operations
/// differently. Empty: without libtorch, or its version is not known.
constexpr const char* own_torch = TANDEM_TORCH_VERSION;
/// Settings of one model that are kept.
constexpr std::size_t most_entries = 32;

json describe(const ModelDescription& model) {
  return {{"libtorch", own_torch},
          {"name", model.name},
          {"tensors", model.tensors},
          {"buckets", model.buckets},
          {"activations", model.activations ? json(*model.activations) : json()}};
}

/// Whether tensors and buckets are those of one model, whatever wrote them.
bool is_sound(const ModelDescription& model) {
  std::int64_t of_buckets = 0, of_tensors = 0;
  std::vector<const BucketDescription*> buckets;
  for (const auto& bucket : model.buckets) buckets.push_back(&bucket);
  std::ranges::sort(buckets, {}, [](const auto* bucket) { return bucket->offset; });
  for (const auto* bucket : buckets) {
    if (bucket->offset != of_buckets || bucket->parameters < 0 || bucket->statistics < 0) return false;
    of_buckets += bucket->elements();
  }
  for (const auto& tensor : model.tensors) {
    const std::int64_t elements = tensor.elements();
    if (elements < 0 || tensor.offset < 0 || tensor.offset + elements > of_buckets) return false;
    of_tensors += elements;
  }
  return of_buckets > 0 && of_tensors == of_buckets;
}

/// None: found by another libtorch, or not a description. Errors: json::exception.
std::optional<ModelDescription> description_from(const json& document) {
  if (*own_torch != '\0' && document.at("libtorch") != own_torch) return std::nullopt;
  ModelDescription model{
      .name = document.at("name"), .tensors = document.at("tensors"), .buckets = document.at("buckets")};
  if (const json& activations = document.at("activations"); !activations.is_null())
    model.activations = activations.get<ModelDescription::Activations>();
  return is_sound(model) ? std::optional(std::move(model)) : std::nullopt;
}

/// Where a cache of the model may be, the best place first.
std::vector<fs::path> places_of(const LearnerSetting& setting) {
  std::vector<fs::path> places = {setting.model + ".description.json"};
  fs::path folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    folder = cache;
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    folder = fs::path(home) / ".cache";
  std::error_code error;
  const fs::path model = fs::absolute(setting.model, error);
  if (folder.empty() || error) return places;
  Digest path;
  path.add(model.lexically_normal().string());
  places.push_back(folder / "tandem" / (path.text() + ".description.json"));
  return places;
}

/// The entries of a cache; empty where there is none, or a damaged one.
json entries_in(const fs::path& place) {
  // Not by the parser, which reads the stream's buffer, and that throws where the file cannot be read.
  std::ifstream file(place, std::ios::binary);
  std::string text;
  std::vector<char> block(1 << 16);
  while (file.read(block.data(), std::ssize(block)) || file.gcount() > 0)
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  json entries = json::parse(text, nullptr, false);
  return entries.is_object() ? entries : json::object();
}

/// False: it cannot be written.
bool write(const fs::path& place, const std::string& text) {
  std::error_code error;
  fs::create_directories(place.parent_path(), error);
  try {
    write_whole_file(place.string(), text);
    return true;
  } catch (const WorldError&) {
    return false;
  }
}

}  // namespace

std::string description_key(const LearnerSetting& setting) {
  std::ifstream file(setting.model, std::ios::binary);
  Digest digest;
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), std::ssize(block)) || file.gcount() > 0)
    digest.add({block.data(), static_cast<std::size_t>(file.gcount())});
  if (!file.eof()) return "";
  const DatasetInfo images = scaled_images(setting);
  digest.add(fmt::format("{} {} {}x{}x{} {} {} {} {}", cache_version,
                         fs::path(setting.model).filename().string(), images.channels, images.height,
                         images.width, images.classes, setting.bucket_bytes.count(),
                         setting.first_bucket_bytes.count(), static_cast<int>(setting.precision)));
  return digest.text();
}

std::optional<ModelDescription> cached_description(const LearnerSetting& setting, const std::string& key) {
  if (key.empty()) return std::nullopt;
  for (const auto& place : places_of(setting)) {
    const json entries = entries_in(place);
    if (!entries.contains(key)) continue;
    try {
      if (auto found = description_from(entries.at(key))) return found;
    } catch (const json::exception&) {
      continue;
    }
  }
  return std::nullopt;
}

void keep_description(const LearnerSetting& setting, const std::string& key,
                      const ModelDescription& description) {
  if (key.empty() || description_key(setting) != key) return;
  for (const auto& place : places_of(setting)) {
    json entries = entries_in(place);
    if (entries.size() >= most_entries) entries = json::object();
    entries[key] = describe(description);
    try {
      if (write(place, entries.dump())) return;
    } catch (const json::exception&) {
      return;  // a name that is not UTF-8
    }
  }
}

}  // namespace tandem

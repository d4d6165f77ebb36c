#include "workloads/data/tier_index.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace tandem {
namespace {

std::string header_of(const TierOrigin& origin, const cache::Manifest& manifest) {
  return "tandem tier 2, " + std::to_string(manifest.samples) + " samples of " +
         std::to_string(manifest.total().count()) + " bytes, data set " + origin.data_set + ", disk of " +
         origin.host;
}

std::string line_of(const TierEntry& entry) {
  return "+ " + std::to_string(entry.id) + ' ' + std::to_string(entry.checksum) + '\n';
}

}  // namespace

std::string tier_file_path(const std::string& directory, int node) {
  return directory + "/tier_" + std::to_string(node) + ".bin";
}

std::string tier_index_path(const std::string& directory, int node) {
  return directory + "/tier_" + std::to_string(node) + ".index";
}

void lose_tier(const std::string& directory, int node) {
  std::error_code ignored;
  std::filesystem::remove(tier_file_path(directory, node), ignored);
  const TierIndex nothing(tier_index_path(directory, node), {}, {}, {});
}

TierIndex::TierIndex(const std::string& path, const TierOrigin& origin, const cache::Manifest& manifest,
                     std::span<const TierEntry> entries) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  std::string text = header_of(origin, manifest) + '\n';
  for (const TierEntry& entry : entries) text += line_of(entry);
  write(text);
}

TierIndex::~TierIndex() {
  if (file_ >= 0) ::close(file_);
}

void TierIndex::add(const TierEntry& entry) { write(line_of(entry)); }
void TierIndex::remove(SampleId id) { write("- " + std::to_string(id) + '\n'); }

/// After an error, for example a full disk, nothing more is written: a later line could follow an incomplete
/// one.
void TierIndex::write(const std::string& line) {
  for (std::size_t written = 0; file_ >= 0 && written < line.size();) {
    const ssize_t count = ::write(file_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      ::close(std::exchange(file_, -1));
    else
      written += static_cast<std::size_t>(count);
  }
}

std::vector<TierEntry> read_tier_index(const std::string& path, const TierOrigin& origin,
                                       const cache::Manifest& manifest) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || line != header_of(origin, manifest)) return {};
  std::unordered_map<SampleId, std::size_t> place_of;
  std::vector<TierEntry> entries;
  std::vector<bool> is_there;
  const auto forget = [&](SampleId id) {
    if (const auto found = place_of.find(id); found != place_of.end()) is_there[found->second] = false;
  };
  // The last line may be incomplete.
  while (std::getline(file, line) && !file.eof()) {
    std::istringstream words(line);
    char what = 0;
    TierEntry entry;
    if (!(words >> what >> entry.id) || entry.id < 0 || entry.id >= manifest.samples) break;
    forget(entry.id);
    if (what == '-') continue;
    if (what != '+' || !(words >> entry.checksum)) break;
    place_of[entry.id] = entries.size();
    entries.push_back(entry);
    is_there.push_back(true);
  }
  std::size_t at = 0;
  std::erase_if(entries, [&](const TierEntry&) { return !is_there[at++]; });
  return entries;
}

}  // namespace tandem

#include "workloads/data/shards.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <list>
#include <mutex>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/checked_read.hpp"
#include "workloads/data/shard_index.hpp"
#include "workloads/data/storage_file.hpp"
#include "workloads/data/tar.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// The archives that were read last, open: there may be more than a process may open.
class OpenShards {
 public:
  OpenShards(fs::path folder, std::vector<ShardIndex::Shard> shards, bool cold)
      : folder_(std::move(folder)), shards_(std::move(shards)), cold_(cold), files_(shards_.size()) {}

  std::string path(std::uint32_t shard) const { return (folder_ / shards_[shard].file).string(); }
  const std::vector<ShardIndex::Shard>& shards() const { return shards_; }

  std::shared_ptr<const StorageFile> open(std::uint32_t shard) {
    const std::lock_guard lock(mutex_);
    if (files_[shard] == nullptr) {
      if (opened_.size() == most_open) {
        files_[opened_.front()] = nullptr;
        opened_.pop_front();
      }
      files_[shard] = std::make_shared<StorageFile>(path(shard), cold_);
      opened_.push_back(shard);
    }
    return files_[shard];
  }
  /// Null: it is not open.
  std::shared_ptr<const StorageFile> opened(std::uint32_t shard) {
    const std::lock_guard lock(mutex_);
    return files_[shard];
  }

 private:
  static constexpr std::size_t most_open = 256;
  fs::path folder_;
  std::vector<ShardIndex::Shard> shards_;
  bool cold_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const StorageFile>> files_;
  std::list<std::uint32_t> opened_;  ///< the oldest first
};

class ShardSource final : public SampleSource {
 public:
  ShardSource(std::shared_ptr<OpenShards> files, ShardIndex::Part part)
      : files_(std::move(files)), part_(std::move(part)) {}

  Bytes size(SampleId id) const override { return part_.manifest->sizes.at(static_cast<std::size_t>(id)); }
  std::string name(SampleId id) const override {
    return fmt::format("{}, byte {}", files_->path(part_.shards.at(static_cast<std::size_t>(id))),
                       part_.offsets[static_cast<std::size_t>(id)]);
  }
  void read(SampleId id, std::span<std::byte> target) const override {
    const auto index = static_cast<std::size_t>(id);
    files_->open(part_.shards.at(index))->read(part_.offsets[index], target);
  }
  std::optional<PlannedRead> plan(SampleId id, std::span<std::byte> target) const override {
    const auto index = static_cast<std::size_t>(id);
    const auto file = files_->opened(part_.shards.at(index));
    auto planned = file ? file->plan(part_.offsets[index], target) : std::nullopt;
    if (planned)
      planned->finish = [file, finish = std::move(planned->finish)](std::int64_t result) { finish(result); };
    return planned;
  }
  std::optional<std::string> difference(SampleId id, std::span<const std::byte> read) const override {
    return difference_of(part_.manifest->checksums.at(static_cast<std::size_t>(id)), checksum_of(read));
  }
  PageCache page_cache() const override { return files_->open(part_.shards.at(0))->page_cache(); }

 private:
  std::shared_ptr<OpenShards> files_;
  ShardIndex::Part part_;
};

[[noreturn]] void fail(const std::string& archive, const std::string& expected, const std::string& found) {
  throw ConfigError(fmt::format("data set 'shards': '{}': expected {}, as {} says, found {}", archive,
                                expected, ShardIndex::file_name, found));
}

void check_archive(const std::string& path, Bytes expected) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) fail(path, fmt::format("{} bytes", expected.count()), error.message());
  if (size != static_cast<std::uintmax_t>(expected.count()))
    fail(path, fmt::format("{} bytes", expected.count()), fmt::format("{}", size));
}

void check_header(const StorageFile& archive, std::int64_t offset, Bytes size) {
  tar::Block block;
  archive.read(offset - tar::block_bytes, block);
  const auto found = tar::size_in(block);
  const std::string expected = fmt::format("a file of {} bytes at byte {}", size.count(), offset);
  if (!found) fail(archive.path(), expected, "no header of one");
  if (*found != size) fail(archive.path(), expected, fmt::format("one of {} bytes", found->count()));
}

/// The first and the last sample of each archive; checksums verify the others when they are read.
void check_headers(OpenShards& files, const ShardIndex::Part& part) {
  for (std::size_t i = 0; i < part.shards.size(); ++i) {
    const bool first = i == 0 || part.shards[i - 1] != part.shards[i];
    const bool last = i + 1 == part.shards.size() || part.shards[i + 1] != part.shards[i];
    if (first || last) check_header(*files.open(part.shards[i]), part.offsets[i], part.manifest->sizes[i]);
  }
}

SampleSet::Part open_part(const std::shared_ptr<OpenShards>& files, ShardIndex::Part part,
                          std::int64_t wanted, const std::string& index) {
  try {
    check_headers(*files, part);
  } catch (const WorldError& error) {
    // An archive that cannot be read before the job runs is bad input.
    throw ConfigError(std::string("data set 'shards': ") + error.what());
  }
  if (wanted > part.manifest->samples())
    throw ConfigError(
        fmt::format("data set 'shards': expected at least the {} requested samples, found {} in '{}'", wanted,
                    part.manifest->samples(), index));
  if (wanted > 0) part.manifest->truncate(wanted);
  const std::shared_ptr<const Manifest> manifest = part.manifest;
  return {manifest, std::make_shared<ShardSource>(files, std::move(part))};
}

}  // namespace

std::shared_ptr<const SampleSet> open_shards(const DatasetSetting& setting) {
  if (setting.directory.empty())
    throw ConfigError(
        "data set 'shards': expected workload.dataset_directory, a folder that `tandem data pack` has "
        "written, "
        "found nothing");
  const std::string path = (fs::path(setting.directory) / ShardIndex::file_name).string();
  ShardIndex index = read_shard_index(path);
  const auto files = std::make_shared<OpenShards>(setting.directory, index.shards, setting.cold);
  for (std::uint32_t shard = 0; shard < index.shards.size(); ++shard)
    check_archive(files->path(shard), index.shards[shard].size);
  auto set = std::make_shared<SampleSet>();
  set->classes = std::move(index.classes);
  set->train = open_part(files, std::move(index.train), setting.train_samples, path);
  const auto test_files = std::make_shared<OpenShards>(setting.directory, index.shards, false);
  set->test = open_part(test_files, std::move(index.test), setting.test_samples, path);
  describe_images(setting, *set);
  set->info.mean = index.mean;
  set->info.deviation = index.deviation;
  return set;
}

}  // namespace tandem

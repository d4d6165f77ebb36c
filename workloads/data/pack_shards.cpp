#include "workloads/data/pack_shards.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/image.hpp"
#include "workloads/data/shard_index.hpp"
#include "workloads/data/tar.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// A folder next to its final place. It is moved there when it is complete, and is removed otherwise.
class FolderInProgress {
 public:
  explicit FolderInProgress(const fs::path& out)
      : out_(out.has_filename() ? out : out.parent_path()),
        path_(out_.string() + fmt::format(".{}.partial", ::getpid())) {
    std::error_code error;
    if (fs::exists(out_, error))
      throw ConfigError(
          fmt::format("data pack: expected a folder that does not exist yet, found '{}'", out_.string()));
    fs::create_directories(path_, error);
    if (error) throw WorldError(fmt::format("cannot create '{}': {}", path_.string(), error.message()));
  }
  ~FolderInProgress() {
    std::error_code left;
    if (!complete_) fs::remove_all(path_, left);
  }
  FolderInProgress(const FolderInProgress&) = delete;
  FolderInProgress& operator=(const FolderInProgress&) = delete;

  const fs::path& path() const { return path_; }
  void complete() {
    std::error_code error;
    fs::rename(path_, out_, error);
    if (error) throw WorldError(fmt::format("cannot create '{}': {}", out_.string(), error.message()));
    complete_ = true;
  }

 private:
  fs::path out_;
  fs::path path_;
  bool complete_ = false;
};

class ShardWriter {
 public:
  ShardWriter(const PackSetting& setting, std::int64_t samples)
      : setting_(setting), samples_(samples), folder_(setting.out) {}

  ShardIndex index;  ///< its classes, mean and deviation are the caller's to set

  void add(Dataset::Part which, std::span<const std::byte> stored, int label) {
    const Bytes size(std::ssize(stored));
    const Bytes entry = Bytes(tar::block_bytes) + tar::padded(size);
    if (archive_ && (which != part_ || index.shards.back().size + entry > setting_.shard_size)) end_archive();
    if (!archive_) begin_archive(which);
    ShardIndex::Shard& shard = index.shards.back();
    ShardIndex::Part& part = index.part(which);
    const bool is_png = std::to_integer<int>(stored.front()) == 0x89;
    write(tar::header_of(fmt::format("{:05}/{:09}.{}", label, part.offsets.size(), is_png ? "png" : "jpg"),
                         size));
    write(stored);
    write(std::vector<std::byte>(static_cast<std::size_t>((tar::padded(size) - size).count())));
    part.manifest->sizes.push_back(size);
    part.manifest->labels.push_back(static_cast<std::uint16_t>(label));
    part.manifest->checksums.push_back(
        static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(stored.data()), stored.size())));
    part.shards.push_back(static_cast<std::uint32_t>(index.shards.size() - 1));
    part.offsets.push_back(shard.size.count() + tar::block_bytes);
    shard.size += entry;
    setting_.progress(static_cast<double>(++written_) / static_cast<double>(samples_));
  }

  PackResult finish() {
    if (archive_) end_archive();
    for (const auto& name : index.classes)
      if (name.find('\n') != std::string::npos)
        throw ConfigError("data pack: expected names of classes without line breaks, found '" + name + "'");
    write_shard_index(index, (folder_.path() / ShardIndex::file_name).string());
    folder_.complete();
    PackResult result{.samples = written_, .shards = std::ssize(index.shards)};
    for (const auto& shard : index.shards) result.size += shard.size;
    return result;
  }

 private:
  void begin_archive(Dataset::Part which) {
    if (which != part_) number_ = 0;
    part_ = which;
    const char* const name = which == Dataset::Part::train ? "train" : "test";
    index.shards.push_back({fmt::format("{}-{:05}.tar", name, number_++), Bytes(0)});
    archive_.emplace(folder_.path() / index.shards.back().file, std::ios::binary);
  }
  void end_archive() {
    write(tar::Block{});
    write(tar::Block{});
    index.shards.back().size += Bytes(2 * tar::block_bytes);
    archive_->close();
    if (!*archive_) fail();
    archive_.reset();
  }
  void write(std::span<const std::byte> bytes) {
    archive_->write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    if (!*archive_) fail();
  }
  [[noreturn]] void fail() const {
    throw WorldError(fmt::format("cannot write '{}': is there space left?",
                                 (folder_.path() / index.shards.back().file).string()));
  }

  const PackSetting& setting_;
  std::int64_t samples_;
  FolderInProgress folder_;
  std::optional<std::ofstream> archive_;
  Dataset::Part part_ = Dataset::Part::train;
  int number_ = 0;  ///< of the next archive of the part
  std::int64_t written_ = 0;
};

constexpr Dataset::Part parts[] = {Dataset::Part::train, Dataset::Part::test};

}  // namespace

PackResult pack(const SampleSet& set, const PackSetting& setting) {
  ShardWriter writer(setting, set.info.train_samples + set.info.test_samples);
  writer.index.classes = set.classes;
  writer.index.mean = set.info.mean;
  writer.index.deviation = set.info.deviation;
  std::vector<std::byte> record(static_cast<std::size_t>(set.info.record_bytes().count()));
  for (const auto which : parts) {
    const SampleSet::Part& part = set.part(which);
    for (SampleId id = 0; id < part.manifest->samples(); ++id) {
      const std::vector<std::byte> stored = read_sample(*part.source, id);
      // A broken image is found now rather than in the middle of a training.
      set.decode(which, id, stored, record);
      writer.add(which, stored, part.manifest->labels[static_cast<std::size_t>(id)]);
    }
  }
  return writer.finish();
}

PackResult pack(const Dataset& dataset, const PackSetting& setting) {
  const DatasetInfo& info = dataset.info();
  TANDEM_CHECK(info.pixel_bits == 8, info.pixel_bits);
  ShardWriter writer(setting, info.train_samples + info.test_samples);
  for (int label = 0; label < info.classes; ++label) writer.index.classes.push_back(std::to_string(label));
  writer.index.mean = info.mean;
  writer.index.deviation = info.deviation;
  const ImageShape shape{info.channels, info.height, info.width};
  for (const auto which : parts)
    for (SampleId id = 0; id < (which == Dataset::Part::train ? info.train_samples : info.test_samples);
         ++id) {
      const auto record = dataset.record(which, id);
      writer.add(which, encode_png(shape, record.subspan(static_cast<std::size_t>(info.label_bytes()))),
                 info.label_of(record));
    }
  return writer.finish();
}

}  // namespace tandem

// Data sets as fixed-size records: the label, then the pixels, channel after channel. Reads them from their
// own files or generates synthetic images; the same record bytes go from storage through caches to the
// learner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem {

struct DatasetInfo {
  std::string name;
  std::int64_t train_samples = 0;
  std::int64_t test_samples = 0;
  int channels = 1;
  int height = 0;
  int width = 0;
  int classes = 0;
  float mean = 0.5F;  ///< of pixels scaled to [0, 1], over all channels, for normalisation
  float deviation = 0.5F;
  int pixel_bits =
      8;  ///< that a record has for each pixel and channel, 8 or 6; the first ones are the lowest
  std::int64_t pixels() const { return std::int64_t{channels} * height * width; }
  /// Bytes of the label, lowest byte first.
  int label_bytes() const { return classes > 256 ? 2 : 1; }
  Bytes record_bytes() const { return Bytes(label_bytes() + (pixels() * pixel_bits + 7) / 8); }
  /// Pre: the first bytes of a record.
  int label_of(std::span<const std::byte> record) const {
    const int low = std::to_integer<int>(record[0]);
    return label_bytes() == 1 ? low : low + 256 * std::to_integer<int>(record[1]);
  }
};

/// Calls `visit` with each pixel of a record in turn, 0 to 2^pixel_bits - 1.
template <class Visit>
void visit_pixels(const DatasetInfo& info, std::span<const std::byte> record, const Visit& visit) {
  const auto packed = record.subspan(static_cast<std::size_t>(info.label_bytes()));
  if (info.pixel_bits == 8) {
    for (const std::byte byte : packed) visit(std::to_integer<std::uint32_t>(byte));
    return;
  }
  const std::uint32_t mask = (1U << info.pixel_bits) - 1U;
  std::uint32_t held = 0;
  int bits = 0;
  for (const std::byte byte : packed) {
    held |= std::to_integer<std::uint32_t>(byte) << bits;
    for (bits += 8; bits >= info.pixel_bits; bits -= info.pixel_bits) {
      visit(held & mask);
      held >>= info.pixel_bits;
    }
  }
}

/// Immutable and in memory; share one between ranks of a process.
class Dataset {
 public:
  enum class Part { train, test };
  /// `train` may be empty: then only tests are in memory.
  Dataset(DatasetInfo info, std::vector<std::byte> train, std::vector<std::byte> test);
  /// Records in memory that exists as long as `memory`.
  Dataset(DatasetInfo info, std::span<const std::byte> train, std::span<const std::byte> test,
          std::shared_ptr<const void> memory);
  const DatasetInfo& info() const { return info_; }
  /// Record `id`: label, then pixels. Pre: 0 <= id < samples of the part.
  std::span<const std::byte> record(Part part, SampleId id) const;
  bool has_training() const { return !train_.empty(); }
  /// All records of a part, one after another.
  std::span<const std::byte> records(Part part) const;
  /// One label per training sample.
  std::vector<std::uint16_t> train_labels() const;

 private:
  /// Records for training and for tests.
  using Records = std::pair<std::vector<std::byte>, std::vector<std::byte>>;
  Dataset(DatasetInfo info, const std::shared_ptr<const Records>& records);

  DatasetInfo info_;
  std::shared_ptr<const void> memory_;
  std::span<const std::byte> train_;
  std::span<const std::byte> test_;
};

struct SampleSet;

struct DatasetSetting {
  std::string name;       ///< of dataset_catalog()
  std::string directory;  ///< where the files are; empty: /usr/share/datasets/NAME, as Debian's packages do
  std::int64_t train_samples;  ///< 0: all; otherwise this many, the first ones (synthetic: to generate)
  std::int64_t test_samples;
  std::uint64_t seed;    ///< of synthetic data
  int image_size = 0;    ///< side to which images in files are decoded; 0: they all have one size
  Options options = {};  ///< of the data set's entry in the catalogue; missing ones have defaults
  /// Training samples are loaded too. False: those of a SampleSet are read one by one.
  bool loads_training = true;
  bool cold = false;  ///< images in files are read past the page cache
};

const Catalog<int>& dataset_catalog();
/// Sizes only, from the headers or lengths of the files, so the files must exist.
/// Errors: ConfigError when missing (names the folder and how to obtain them), truncated or corrupt.
DatasetInfo describe_dataset(const DatasetSetting& setting);
/// The same for modelled mathematics, which needs no files. Without files, the sizes are those of the
/// published data set. Errors: as describe_dataset, if there is a file; more samples requested than it has.
DatasetInfo describe_modelled_dataset(const DatasetSetting& setting);
/// Paths of its files; none for synthetic data, and for samples that are stored one by one. Errors:
/// ConfigError when one is missing.
std::vector<std::string> dataset_files(const DatasetSetting& setting);
/// `set`: of this data set, if it was opened before. Errors: as describe_dataset, for invalid labels and
/// broken images, and for data sets above `largest_in_memory` that need not be in memory.
std::shared_ptr<const Dataset> load_dataset(const DatasetSetting& setting, const SampleSet* set = nullptr);
/// One label per training sample, as load_dataset gives them; synthetic data of any size. Errors: as
/// load_dataset.
std::vector<std::uint16_t> load_train_labels(const DatasetSetting& setting);
/// The same for modelled mathematics. Without a file, labels are drawn from the seed, all classes with the
/// same probability.
std::vector<std::uint16_t> modelled_train_labels(const DatasetSetting& setting);
/// The limit for synthetic data and decoded images.
inline constexpr Bytes largest_in_memory{std::int64_t{16} << 30};

}  // namespace tandem

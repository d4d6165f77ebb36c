// Data sets as fixed-size records: one label byte, then the pixels, channel after channel. Reads them from
// their own files or generates synthetic images; the same record bytes go from storage through caches to the
// learner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
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
  Bytes record_bytes() const { return Bytes(1 + std::int64_t{channels} * height * width); }
};

/// Immutable and in memory; share one between ranks of a process.
class Dataset {
 public:
  enum class Part { train, test };
  Dataset(DatasetInfo info, std::vector<std::byte> train, std::vector<std::byte> test);
  const DatasetInfo& info() const { return info_; }
  /// Record `id`: label byte, then pixels. Pre: 0 <= id < samples of the part.
  std::span<const std::byte> record(Part part, SampleId id) const;
  /// All records of a part, one after another.
  std::span<const std::byte> records(Part part) const;
  /// One label per training sample.
  std::vector<std::uint8_t> train_labels() const;

 private:
  DatasetInfo info_;
  std::vector<std::byte> train_;
  std::vector<std::byte> test_;
};

struct DatasetSetting {
  std::string name;       ///< of dataset_catalog()
  std::string directory;  ///< where the files are; empty: /usr/share/datasets/NAME, as Debian's packages do
  std::int64_t train_samples;  ///< 0: all; otherwise this many, the first ones (synthetic: to generate)
  std::int64_t test_samples;
  std::uint64_t seed;  ///< of synthetic data
};

const Catalog<int>& dataset_catalog();
/// Sizes only, from the headers or lengths of the files, so the files must exist.
/// Errors: ConfigError when missing (names the folder and how to obtain them), truncated or corrupt.
DatasetInfo describe_dataset(const DatasetSetting& setting);
/// Errors: as describe_dataset, and for invalid labels.
std::shared_ptr<const Dataset> load_dataset(const DatasetSetting& setting);

}  // namespace tandem

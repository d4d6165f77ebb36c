// Writes data sets as shards: tar archives with an index (workloads/data/shards.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "workloads/data/sample_set.hpp"

namespace tandem {

struct PackSetting {
  std::string out;  ///< folder, which must not exist
  Bytes shard_size{64'000'000};
  /// Called with the share of the samples that are written; may throw to end the packing.
  std::function<void(double)> progress = [](double) {};
};
struct PackResult {
  std::int64_t samples = 0;
  std::int64_t shards = 0;
  Bytes size{0};  ///< of all archives
};
/// Writes the images of a set as they are stored. The folder is complete or not there. Errors: WorldError,
/// ConfigError for a folder that exists, an image that cannot be read, or a class whose name has a line
/// break.
PackResult pack(const SampleSet& set, const PackSetting& setting);
/// The same for a data set of records. Its images become PNG, from which a learner reads the same pixels.
/// Pre: pixels of 8 bits.
PackResult pack(const Dataset& dataset, const PackSetting& setting);

}  // namespace tandem

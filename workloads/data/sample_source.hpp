// Where samples are stored, each to be read by itself: a file of records, a folder of images, shards.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "policies/vocabulary/units.hpp"
#include "workloads/data/storage_file.hpp"

namespace tandem {

/// Several threads may use one at the same time.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// Bytes of the sample as it is stored.
  virtual Bytes size(SampleId id) const = 0;
  /// Reads the stored bytes into `target`, which has that size. Errors: WorldError naming the file.
  virtual void read(SampleId id, std::span<std::byte> target) const = 0;
  /// The same read as data. `target` and the source must outlive it. Nullopt if it would block the caller,
  /// or does not read past the page cache. Errors: none; they come with the read.
  virtual std::optional<PlannedRead> plan(SampleId /*id*/, std::span<std::byte> /*target*/) const {
    return std::nullopt;
  }
  /// The error in bytes that were read as this sample, in words; none if they are right, or if it has no
  /// checksum.
  virtual std::optional<std::string> difference(SampleId, std::span<const std::byte>) const {
    return std::nullopt;
  }
  /// Whether reads use the page cache, if there are any.
  virtual PageCache page_cache() const { return PageCache::used; }
  /// Where it is stored, for messages.
  virtual std::string name(SampleId id) const { return "sample " + std::to_string(id); }
};

}  // namespace tandem

// The samples that a cache node keeps in a tier on its disk: one file, in which each sample has its place.
// Only those that were kept take space. File systems give back whole blocks only (usually 4 KiB), so samples
// smaller than a block never give theirs back, and larger ones all but what they share with their neighbours:
// the file may grow beyond the capacity of the tier, at most to the size of the data set.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem {

/// Several threads may write and read different samples at the same time.
class TierFile {
 public:
  /// Creates an empty file, which is removed with the object. Errors: WorldError.
  TierFile(std::string path, const cache::Manifest& manifest);
  ~TierFile();
  TierFile(const TierFile&) = delete;
  TierFile& operator=(const TierFile&) = delete;

  /// `record`: of the size of the sample. Errors: WorldError.
  void write(SampleId id, std::span<const std::byte> record);
  /// Pre: it was written, and not removed since. Errors: WorldError.
  void read(SampleId id, std::span<std::byte> target) const;
  /// The blocks that it alone uses can be used for others, where the file system can do that.
  void remove(SampleId id);

 private:
  [[noreturn]] void fail(const char* what, SampleId id) const;

  std::string path_;
  std::vector<std::int64_t> begin_of_;  ///< by id, and the end
  int file_ = -1;
};

}  // namespace tandem

// The samples that a cache node keeps in a tier on its disk: one file, in which each sample has its place.
// Only those that were kept take space. File systems give back whole blocks only (usually 4 KiB), so samples
// smaller than a block never give theirs back, and larger ones all but what they share with their neighbours:
// the file may grow beyond the capacity of the tier, at most to the size of the data set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/data/tier_index.hpp"

namespace tandem {

/// Several threads may write and read different samples at the same time.
class TierFile {
 public:
  /// nameless: empty, and gone when the process ends. empty: it remains (data.keep). as_left: it has what an
  /// earlier process left there.
  enum class Begin : std::uint8_t { nameless, empty, as_left };
  /// Creates the file. Unless it begins as it was left, one of that name, which an earlier process may have
  /// left, is replaced. Errors: WorldError.
  TierFile(std::string path, const cache::Manifest& manifest, Begin begin = Begin::nameless);
  ~TierFile();
  TierFile(const TierFile&) = delete;
  TierFile& operator=(const TierFile&) = delete;

  /// `record`: of the size of the sample. False: its disk has no room for it, and the sample is not there.
  /// Errors: WorldError.
  bool write(SampleId id, std::span<const std::byte> record);
  /// Errors: WorldError, also if the sample is not there, or differs from the written one.
  void read(SampleId id, std::span<std::byte> target) const;
  /// Of those of the samples that the file `from`, this one or another, has as they were written: from now on
  /// they are here. The others are not. Errors: WorldError.
  std::vector<TierEntry> take_over(const std::string& from, std::span<const TierEntry> samples);
  /// The checksum of a sample that is here.
  std::uint32_t checksum_of(SampleId id) const { return written_.at(static_cast<std::size_t>(id)).checksum; }
  /// The blocks that it alone uses can be used for others, where the file system can do that.
  void remove(SampleId id);

 private:
  [[noreturn]] void fail(const char* what, SampleId id) const;
  bool read_from(int file, SampleId id, std::span<std::byte> target) const;
  std::size_t size_of(SampleId id) const {
    const auto index = static_cast<std::size_t>(id);
    return static_cast<std::size_t>(begin_of_[index + 1] - begin_of_[index]);
  }

  struct Written {
    bool is_there = false;
    std::uint32_t checksum = 0;
  };
  std::string path_;
  std::vector<std::int64_t> begin_of_;  ///< by id, and the end
  std::vector<Written> written_;        ///< by id
  int file_ = -1;
};

}  // namespace tandem

// Which samples the file of a kept tier has (data.keep), and their checksums: a log next to that file, to
// which a line is added when a sample is written or removed. A process that is killed leaves at most an
// incomplete line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem {

struct TierEntry {
  SampleId id = 0;
  std::uint32_t checksum = 0;  ///< see TierFile; 0 when math is modelled
  bool operator==(const TierEntry&) const = default;
};

/// The files of the tier of cache node number `node`.
std::string tier_file_path(const std::string& directory, int node);
std::string tier_index_path(const std::string& directory, int node);
/// The disk is lost: removes the samples, and leaves a log without any, which says that none are left.
void lose_tier(const std::string& directory, int node);

/// Whose disk it is, and a digest of the data set of which it has samples.
struct TierOrigin {
  std::string host;
  std::string data_set;
};

class TierIndex {
 public:
  /// Replaces the log by one of these entries. If a log cannot be written, samples that it lacks are not
  /// kept.
  TierIndex(const std::string& path, const TierOrigin& origin, const cache::Manifest& manifest,
            std::span<const TierEntry> entries);
  ~TierIndex();
  TierIndex(const TierIndex&) = delete;
  TierIndex& operator=(const TierIndex&) = delete;

  void add(const TierEntry& entry);
  void remove(SampleId id);

 private:
  void write(const std::string& line);
  int file_ = -1;
};

/// The samples that a log says are there, the one that was written first first. None if there is no log, or
/// one of another host's disk or of another data set.
std::vector<TierEntry> read_tier_index(const std::string& path, const TierOrigin& origin,
                                       const cache::Manifest& manifest);

}  // namespace tandem

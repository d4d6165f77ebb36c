// Which samples the file of a kept tier has (data.keep), and their checksums: a log beside it, to which a
// line is added when a sample is written or removed. A process that is killed leaves at most an incomplete
// line.
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
/// Removes both, if they are there.
void remove_tier(const std::string& directory, int node);

class TierIndex {
 public:
  /// Replaces the log by one of these entries. `host`: whose disk it is. A log that cannot be written is
  /// incomplete: what it lacks is not kept.
  TierIndex(const std::string& path, const std::string& host, const cache::Manifest& manifest,
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
std::vector<TierEntry> read_tier_index(const std::string& path, const std::string& host,
                                       const cache::Manifest& manifest);

}  // namespace tandem

// The files of the second tier of a cache node: its samples and, if the tier outlives the process
// (data.keep), the log of its samples. Also the files that an earlier process has left on the disk of the
// node's host: one of this job, or of the job that this one resumes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/data/tier_file.hpp"
#include "workloads/data/tier_index.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

class TierFiles {
 public:
  /// `node`: among the cache nodes. The arguments must outlive it.
  TierFiles(const Job& job, Context& context, int node, int incarnation);

  /// Null when math is modelled, and where memory is the only tier.
  TierFile* samples() { return samples_.get(); }
  bool are_kept() const { return job_.spec().experiment.data.keep; }
  struct Left {
    std::vector<TierEntry> here = {};
    std::int64_t spoiled = 0;  ///< samples that differ from the written ones
  };
  /// Before the node serves: reads all samples that are left once, and compares them with their checksums.
  Left check_left();
  /// Begins the log with these samples. Pre: are_kept(), and check_left() has ended.
  void begin_log(std::span<const TierEntry> here);
  bool have_log() const { return log_.has_value(); }
  /// The sample is in the tier, or is not there any more.
  void note(SampleId id, bool is_there);

 private:
  std::string find_left() const;
  std::string log_path(const std::string& directory) const { return tier_index_path(directory, node_); }

  const Job& job_;
  Context& context_;
  int node_;
  int incarnation_;
  std::string left_;  ///< the result directory that has it; empty: none does
  TierOrigin origin_;
  std::unique_ptr<TierFile> samples_;
  std::optional<TierIndex> log_;
};

}  // namespace tandem

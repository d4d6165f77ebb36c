// The reads of a cache node that no batch waits for, in the order of the policy's decisions. A fixed number
// of reads is made at the same time. The queue holds the reads to be made; the node makes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem {

class BackgroundQueue {
 public:
  struct Read {
    std::vector<SampleId> ids = {};
    std::size_t others = 0;  ///< the last ones of `ids` come with a package and are not needed
    cache::Why why = cache::Why::prefetch;
    bool is_new_package = false;  ///< the samples are copied into a package
    cache::Place from = cache::store();
    int job = 0;  ///< among those of the node, and its epoch
    std::int64_t epoch = 0;
    bool is_package() const { return why == cache::Why::package && ids.size() > 1; }
  };
  /// `batch`: samples of one read if the policy reads them one by one. `most`: samples of any read; larger
  /// reads are divided. `concurrent`: reads at the same time.
  BackgroundQueue(std::size_t batch, std::size_t most, std::size_t concurrent = 1)
      : batch_(batch), most_(most), concurrent_(concurrent) {}

  /// Adds decisions about reads in the background.
  void add(const cache::Decisions& decisions, std::int64_t epoch, int job = 0);
  /// None: nothing is to be read, or as many reads are in progress as may be.
  std::optional<Read> next();
  /// A batch waits for the sample now: the read that brings it; none: that read has begun.
  std::optional<Read> hurry(SampleId id);
  /// `parts`: reads from several places, each of which ends by itself.
  void note_begun(std::size_t parts) { running_ += parts; }
  void note_end() { --running_; }
  bool is_running() const { return running_ > 0; }
  bool is_empty() const { return reads_.empty(); }

 private:
  void add(const cache::Fetch& fetch, std::span<const SampleId> ids, std::int64_t epoch, int job);
  void add_parts(const Read& read);
  void index(std::int64_t number, std::span<const SampleId> ids);
  std::optional<Read> take(std::map<std::int64_t, Read>::iterator read);

  std::size_t batch_, most_, concurrent_;
  std::map<std::int64_t, Read> reads_;  ///< by number, in the order in which they were decided
  std::int64_t next_ = 0;               ///< number
  std::unordered_map<SampleId, std::int64_t> bringing_;  ///< by sample, the number of its read
  std::size_t running_ = 0;                              ///< parts of reads that were begun
};

}  // namespace tandem

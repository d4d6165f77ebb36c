// Which nodes hold which samples, by their own reports: the directory of caches that several nodes share. A
// node that may keep a sample has an entry from before it keeps the sample until after the sample has left
// it. So there are never more copies than allowed, and a sample without entries is on no node. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

class Directory {
 public:
  /// Ids are 0 to `samples` - 1. `copies`: nodes that may hold a sample at the same time; 0: all.
  Directory(std::int64_t samples, int copies);

  struct Located {
    int holder = -1;  ///< another node that holds the sample, or is reading it; -1: none
    /// The asking node may keep the sample. It has an entry from now on, and must publish or withdraw it.
    bool may_keep = false;
    bool operator==(const Located&) const = default;
  };
  /// For a node that does not have the sample. Of several holders it names one that has published the sample
  /// rather than one that is reading it. Of equal ones it names the next one in the order of nodes, so that
  /// askers are spread over them.
  Located look_up(SampleId id, int node);
  /// The node has the sample now.
  void publish(SampleId id, int node);
  /// The node has the sample no longer, or does not keep it.
  void withdraw(SampleId id, int node);
  /// The holder that was named at `moment` did not have the sample. False: its entry is newer, or the node
  /// is still reading the sample and will report it itself.
  bool repair(SampleId id, int holder, std::int64_t moment);
  /// The node has departed, and holds nothing.
  void remove(int node);
  /// Counts publications, so that the newer one of two answers is known.
  std::int64_t moment() const { return moment_; }
  /// Number of nodes with an entry for the sample.
  std::size_t holders(SampleId id) const { return entries_.at(index(id)).size(); }

 private:
  struct Entry {
    std::int32_t node = 0;
    bool is_there = false;   ///< published
    std::int64_t since = 0;  ///< the moment of its publication
  };
  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }
  Entry* find(SampleId id, int node);

  std::size_t copies_;
  std::int64_t moment_ = 0;
  std::vector<std::vector<Entry>> entries_;  ///< by id, in ascending order of nodes
};

}  // namespace tandem::cache

// Which nodes hold which samples, as they say themselves: the directory of caches that several nodes share.
// Every node that may keep a sample has an entry from before it keeps the sample until after the sample has
// left it, so there are never more copies than allowed, and what the directory does not know is nowhere.
// Pure.
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
    int holder = -1;  ///< another node that holds the sample, or will in a moment; -1: none
    /// The asking node may keep the sample. It has an entry from now on, and must publish or withdraw it.
    bool may_keep = false;
    bool operator==(const Located&) const = default;
  };
  /// For a node that has not got the sample. Of several holders it names one that has published the sample
  /// rather than one that is reading it, and of those the next one in the order of nodes, so that askers
  /// divide themselves among them.
  Located look_up(SampleId id, int node);
  /// The node has the sample now.
  void publish(SampleId id, int node);
  /// The node has it no longer, or does not keep it.
  void withdraw(SampleId id, int node);
  /// The holder that was named when `moment` was the moment did not have the sample. False: its entry is
  /// newer, or is one of a node that is still reading the sample, which will tell by itself.
  bool repair(SampleId id, int holder, std::int64_t moment);
  /// The node has departed, and has nothing.
  void remove(int node);
  /// Counts publications: says which of two answers is the newer one.
  std::int64_t moment() const { return moment_; }
  /// Nodes with an entry for it.
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

// What a cache node delivered and read in one epoch of one job. The classes of delivered samples add up to
// the requests; reads in the background are counted separately.
#pragma once

#include <array>
#include <cstdint>

#include "policies/cache/policy.hpp"

namespace tandem {

struct SampleCount {
  std::int64_t samples = 0;
  std::int64_t bytes = 0;
  void add(Bytes size) {
    ++samples;
    bytes += size.count();
  }
  SampleCount& operator+=(const SampleCount& other) {
    samples += other.samples;
    bytes += other.bytes;
    return *this;
  }
  bool operator==(const SampleCount&) const = default;
};

struct CacheLedger {
  // Delivered samples, by class.
  SampleCount local;  ///< the wanted sample, or one that changed places with it, from a tier of the node
  SampleCount substituted;  ///< another sample in place of the wanted one, from anywhere
  SampleCount peer;         ///< from another node
  SampleCount storage;      ///< from a store: the consumer waits

  std::int64_t swapped = 0;   ///< of `local`, `peer` and `storage`: changed places with the wanted one
  std::int64_t joined = 0;    ///< of `peer` and `storage`: waited for a read that had begun before
  std::int64_t repeated = 0;  ///< delivered to the job in this epoch before
  std::int64_t distinct = 0;  ///< different samples that were delivered

  /// Samples read in the background by cache::Why, and the requests for them.
  std::array<SampleCount, cache::why_count> background = {};
  std::array<std::int64_t, cache::why_count> background_requests = {};
  SampleCount packed;  ///< copied into packages of the store
  std::int64_t packages_written = 0;
  SampleCount wasted;            ///< read in the background and evicted before they were delivered
  std::int64_t evicted = 0;      ///< samples that left the node
  std::int64_t peer_misses = 0;  ///< reads that a peer answered with "not here"

  SampleCount delivered() const {
    SampleCount sum = local;
    sum += substituted;
    sum += peer;
    return sum += storage;
  }
  SampleCount read_in_background() const {
    SampleCount sum;
    for (const auto& reads : background) sum += reads;
    return sum;
  }
  CacheLedger& operator+=(const CacheLedger& other);
  bool operator==(const CacheLedger&) const = default;
};

}  // namespace tandem

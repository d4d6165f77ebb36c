// Replaying a trace of requests on an order alone: what `tandem cache` does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

struct TraceRequest {
  std::uint32_t id = 0;   ///< numbered from 0 in the order of first requests
  std::int64_t size = 0;  ///< bytes
};

struct Trace {
  std::span<const TraceRequest> requests;
  std::size_t ids = 0;  ///< all ids are below
  /// For each request the position of the next one of the same id, or the number of requests. Only for
  /// policies that know the future; empty for others.
  std::span<const std::uint64_t> next;
};

/// Which missed requests may enter a cache.
struct AdmissionRule {
  enum class Kind : std::uint8_t { all, size, probability, seen };
  Kind kind = Kind::all;
  std::int64_t largest = 0;  ///< of size: bytes
  double probability = 1.0;  ///< of probability
};

/// Decides about the misses of one replay. `seen` admits an object from its second request on. Ids are
/// dense, so it needs no Bloom filter and makes no errors of one.
class Admission {
 public:
  Admission(const AdmissionRule& rule, std::size_t ids, std::uint64_t seed)
      : rule_(rule), random_(Rng::stream(seed, "admission")) {
    if (rule.kind == AdmissionRule::Kind::seen) seen_.resize(ids);
  }
  bool admits(const TraceRequest& request) {
    switch (rule_.kind) {
      case AdmissionRule::Kind::all:
        return true;
      case AdmissionRule::Kind::size:
        return request.size <= rule_.largest;
      case AdmissionRule::Kind::probability:
        return random_.uniform() < rule_.probability;
      case AdmissionRule::Kind::seen:
        break;
    }
    const bool was_seen = seen_[request.id];
    seen_[request.id] = true;
    return was_seen;
  }

 private:
  AdmissionRule rule_;
  Rng random_;
  std::vector<bool> seen_;
};

struct ReplaySetting {
  Bytes capacity;
  Options options = {};
  std::uint64_t seed = 1;  ///< for orders that draw numbers, and for admission
  AdmissionRule admission = {};
  std::size_t warm_up = 0;  ///< first requests, which are not counted
};

struct Counts {
  std::int64_t requests = 0;
  std::int64_t hits = 0;
  std::int64_t bytes = 0;      ///< requested
  std::int64_t hit_bytes = 0;  ///< of `bytes`
  std::int64_t evicted = 0;
  std::int64_t largest_used = 0;  ///< most bytes in the cache at the same time
  /// Counted requests up to the first one whose object found no room; none: all found room.
  std::optional<std::int64_t> full_after = {};

  void note_full() {
    if (!full_after) full_after = requests;
  }

  void add(std::int64_t size, bool is_hit) {
    ++requests;
    bytes += size;
    if (!is_hit) return;
    ++hits;
    hit_bytes += size;
  }
  double miss_ratio() const {
    return requests == 0 ? 0.0 : 1.0 - static_cast<double>(hits) / static_cast<double>(requests);
  }
  double byte_miss_ratio() const {
    return bytes == 0 ? 0.0 : 1.0 - static_cast<double>(hit_bytes) / static_cast<double>(bytes);
  }
};

using Replay = Counts (*)(const Trace&, const ReplaySetting&);

}  // namespace tandem::cache

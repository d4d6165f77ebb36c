// The interface of every cache policy: requests in, decisions out. The cache node owns the bytes; the policy
// decides which samples are kept. No clock, I/O or global state; ties are broken by insertion order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policies/cache/replay.hpp"
#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

/// Where a requested sample comes from.
enum class Source { local, storage };

struct Lookup {
  Source source;
};

/// What to do with a sample that storage delivered.
struct Admission {
  bool keep = false;
  std::vector<SampleId> evicted = {};
};

/// Deterministic. A sample larger than the capacity is never kept.
class CachePolicy {
 public:
  virtual ~CachePolicy() = default;
  virtual Lookup on_request(SampleId id, Bytes size) = 0;
  /// Pre: `on_request(id, size)` answered `storage`.
  virtual Admission on_fetched(SampleId id, Bytes size) = 0;
  /// Bytes kept now; never above the capacity.
  virtual Bytes used() const = 0;
};

struct Setting {
  Bytes capacity;
  Options options;
  std::uint64_t seed = 1;  ///< of policies that draw numbers
};

/// What can be made of a policy.
struct Factory {
  /// For a cache node; null: only traces.
  std::unique_ptr<CachePolicy> (*node)(const Setting&) = nullptr;
  /// For a trace; null: the policy needs more than one order of requests.
  Replay replay = nullptr;
  bool knows_future = false;  ///< the trace must have the next request of each
};
/// Those of cache nodes.
const Catalog<Factory>& catalog();
/// Those that can replay traces.
const Catalog<Factory>& trace_catalog();

}  // namespace tandem::cache

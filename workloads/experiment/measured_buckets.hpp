// The buckets of a gradient as somebody measured them (workload.measured_buckets).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

struct ListedBucket {
  Bytes size;           ///< in fp32: above 0, a multiple of 4
  Seconds ready;        ///< after the step's begin, where the device never waits for its processor
  Seconds launched{0};  ///< by the processor, after the step's begin; 0: not given
  /// Shapes of its gradients, in the order of their completion; empty: not given.
  std::vector<std::vector<std::int64_t>> tensors = {};
};

/// Reads "SIZE READY [HOST] [SHAPE...]" (8MB 30ms 25ms 1000x2000). Errors: ConfigError that begins with
/// `place`.
ListedBucket parse_bucket(const std::string& text, const std::string& place);
/// The same for each, of which none is ready or launched before the one before it.
std::vector<ListedBucket> parse_buckets(const std::vector<std::string>& texts, const std::string& place);
/// What parse_bucket reads back to the same bucket.
std::string to_text(const ListedBucket& bucket);

}  // namespace tandem

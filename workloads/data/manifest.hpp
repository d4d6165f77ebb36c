// The known properties of every sample of a data set before any is read: its size, its class and its
// checksum. The SampleSource knows where it is stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/cache/policy.hpp"
#include "policies/vocabulary/digest.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Arrays by id. A class has 16 bits, as in a record that a learner reads.
struct Manifest {
  static constexpr std::size_t most_classes = std::size_t{1} << 16;

  std::vector<Bytes> sizes;  ///< as stored
  std::vector<std::uint16_t> labels;
  std::vector<std::uint32_t> checksums;  ///< CRC-32 of the stored bytes; empty: not known
  Digest names;                          ///< of the samples' names, in order

  std::int64_t samples() const { return static_cast<std::int64_t>(sizes.size()); }
  /// Keeps the first `count` samples. Pre: there are as many.
  void truncate(std::int64_t count);
  /// A view for caches: valid as long as this is not changed.
  cache::Manifest view() const;
  /// Different for different names, sizes, classes or checksums.
  std::string digest() const;
};

}  // namespace tandem

// The form of QSGD's messages and their random numbers, for the codecs of every device.
#pragma once

#include <cstdint>

#include "policies/compression/codec.hpp"

namespace tandem::compression {

/// A message has a code per element, -levels to levels, then a norm per bucket.
class QsgdForm {
 public:
  explicit QsgdForm(const Setting& setting);

  std::int64_t elements() const { return elements_; }
  std::int64_t levels() const { return levels_; }
  /// Elements that share a norm.
  std::int64_t bucket() const { return bucket_; }
  std::int64_t buckets() const { return (elements_ + bucket_ - 1) / bucket_; }
  /// Bits of a code.
  int bits() const { return bits_; }
  /// The byte at which the norms begin.
  std::int64_t norms() const;
  std::int64_t message_bytes() const {
    return norms() + buckets() * static_cast<std::int64_t>(sizeof(float));
  }
  /// Seed of the numbers that round the elements of an exchange, by their indices (indexed_uniform).
  std::uint64_t seed_of(std::int64_t exchange) const;

 private:
  std::int64_t elements_;
  std::int64_t levels_;
  std::int64_t bucket_;
  int bits_;
  std::uint64_t seed_;
};

}  // namespace tandem::compression

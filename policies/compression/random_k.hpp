// The random choices of random-k, for the codecs of every device.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/compression/codec.hpp"

namespace tandem::compression {

/// Which elements of a stretch are sent, the same for all workers, and how they are scaled.
class RandomChoice {
 public:
  /// Pre: the stretch has fewer than 2^32 elements.
  explicit RandomChoice(const Setting& setting);

  std::int64_t elements() const { return elements_; }
  /// Elements that are sent.
  std::int64_t count() const { return count_; }
  /// The factor on sent elements: 1 if elements that are not sent now are sent later; otherwise it makes the
  /// sent ones represent all.
  float scale() const { return scale_; }
  /// Ascending indices; valid until the next call for another exchange. All choices are equally likely
  /// (Floyd's algorithm: Bentley, Programming Pearls, CACM 30(9), 1987).
  const std::vector<std::uint32_t>& of(std::int64_t exchange);
  /// Whether `of` has drawn for this exchange last.
  bool is_drawn(std::int64_t exchange) const { return exchange == drawn_for_; }

 private:
  std::int64_t elements_;
  std::int64_t count_;
  std::uint64_t seed_;
  float scale_;
  std::int64_t drawn_for_ = -1;
  std::vector<std::uint32_t> chosen_;
  std::vector<std::uint64_t> marked_;  ///< a bit per element
};

}  // namespace tandem::compression

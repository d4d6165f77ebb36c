// The order in which a cache node was asked for samples, and the most that a cache which knew it could have
// delivered: Belady's MIN (order/belady.cpp) for batches and for a part of the epochs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

class RequestOrder {
 public:
  /// Keeps at most so many requests, 4 bytes each.
  explicit RequestOrder(std::int64_t most) : most_(most) {}

  /// The next batch; what was delivered for each of its samples counts.
  void add(std::int64_t epoch, std::span<const Serve> serves);
  /// False: there were more requests than can be kept, and none is.
  bool is_complete() const { return requests_ <= most_; }
  std::int64_t requests() const { return requests_; }

  /// Bytes of the samples of these epochs that tiers can have delivered at most which begin empty and read
  /// nothing ahead. The content of tiers is chosen after each batch, from what was in them and the batch; a
  /// sample that a batch has twice comes from a tier the second time. All requests before count as occasions
  /// to keep a sample. Exact where all samples have one size; where sizes differ, tiers are one, and keep
  /// parts of samples, which is a bound for those that cannot. Pre: is_complete().
  Bytes most_from_tiers(std::int64_t first_epoch, std::int64_t last_epoch, std::span<const Bytes> tiers,
                        const Manifest& manifest) const;

 private:
  struct Batch {
    std::uint32_t end = 0;  ///< in `ids_`
    std::int64_t epoch = 0;
  };
  std::int64_t most_;
  std::int64_t requests_ = 0;
  std::vector<std::uint32_t> ids_;
  std::vector<Batch> batches_;
};

}  // namespace tandem::cache

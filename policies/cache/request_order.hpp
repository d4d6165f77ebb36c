// The order in which a cache node was asked for samples, and the most that a cache could have delivered that
// knew it: Belady's MIN (order/belady.cpp), for batches and for a part of the epochs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

class RequestOrder {
 public:
  /// Keeps at most `most` requests, 4 bytes each.
  explicit RequestOrder(std::int64_t most) : most_(most) {}

  /// The next batch. For each of its samples, the delivered one counts.
  void add(std::int64_t epoch, std::span<const Serve> serves);
  /// False: there were more requests than can be kept. Then none is kept.
  bool is_complete() const { return requests_ <= most_; }
  std::int64_t requests() const { return requests_; }

  /// Most bytes of the samples of these epochs that tiers can have delivered, if the tiers begin empty and
  /// read nothing in advance. After each batch, the content of the tiers is chosen from their former content
  /// and the batch. A sample that a batch has twice comes from a tier the second time. A sample may be kept
  /// from any request before. Exact if all samples have one size. Otherwise the tiers count as one tier that
  /// may keep parts of samples: a bound for tiers that cannot. Pre: is_complete().
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

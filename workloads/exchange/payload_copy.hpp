// A copy of a worker's contribution to an exchange, kept until the exchange has ended: sums overwrite the
// contribution in place.
#pragma once

#include <cstddef>

#include "workloads/exchange/replica.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

class PayloadCopy {
 public:
  /// `replica` must outlive it.
  explicit PayloadCopy(Replica& replica) : replica_(replica) {}

  /// Pre: the bucket of the payload is complete.
  void keep(sync::Payload payload, int bucket) { copy(payload, bucket, true); }
  /// Pre: the bucket was kept in this exchange.
  void restore(sync::Payload payload, int bucket) { copy(payload, bucket, false); }

 private:
  void copy(sync::Payload payload, int bucket, bool keeps) {
    if (!replica_.has_values()) return;
    if (values_.empty())
      values_ = FloatArray(replica_.device(), static_cast<std::size_t>(replica_.description().elements()));
    const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    const Slice own = replica_.payload(payload, extent.offset, extent.exchanged());
    float* const kept = values_.data() + extent.offset;
    const auto bytes = static_cast<std::size_t>(own.size.count());
    if (keeps)
      replica_.device().copy(kept, own.data, bytes);
    else
      replica_.device().copy(own.data, kept, bytes);
  }

  Replica& replica_;
  FloatArray values_;  ///< empty until the first use, and when math is modelled
};

}  // namespace tandem

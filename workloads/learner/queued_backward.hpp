// The progress of a step's backward pass, bucket by bucket: requested and queued. On a device that is not
// the host, each bucket is queued before it is requested, so that the device has work while the rank waits.
#pragma once

#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

class QueuedBackward {
 public:
  /// `device` must outlive this.
  QueuedBackward(ComputeDevice& device, int buckets) : device_(device), buckets_(buckets) {}

  /// A forward pass was queued.
  void begin() {
    next_ = queued_ = 0;
    ahead_ = {};
  }
  /// A forward pass was queued, and some bucket was not requested yet.
  bool is_running() const { return next_ >= 0 && next_ < buckets_; }
  /// The bucket is requested. Pre: it is the next one.
  void request(int bucket) {
    TANDEM_CHECK(bucket == next_ && bucket < buckets_, "bucket", bucket, "expected", next_);
    ++next_;
  }
  /// Queues the requested bucket, unless it is queued already, and the next one. Marks the end of the
  /// requested one (ComputeDevice::end_kernel_at). `calculate` queues a bucket.
  template <class Calculate>
  void run(int bucket, const Calculate& calculate) {
    if (device_.is_host()) return calculate(bucket);
    OwnedMark end = queued_ > bucket ? std::move(ahead_) : queue(bucket, calculate);
    if (bucket + 1 < buckets_) ahead_ = queue(bucket + 1, calculate);
    device_.end_kernel_at(end.give_away());
  }

 private:
  template <class Calculate>
  OwnedMark queue(int bucket, const Calculate& calculate) {
    calculate(bucket);
    ++queued_;
    return {device_, device_.mark()};
  }

  ComputeDevice& device_;
  int buckets_;
  int next_ = -1;    ///< the bucket to be requested next; -1 before the first forward
  int queued_ = 0;   ///< buckets
  OwnedMark ahead_;  ///< end of the last queued one, if it was not requested yet
};

}  // namespace tandem

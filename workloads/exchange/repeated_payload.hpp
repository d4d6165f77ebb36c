// A worker's payload in an exchange that may be done again: a copy of each bucket, because sums overwrite it
// in place, and the compressed messages. These are then computed again from the errors that were unsent
// before.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "workloads/exchange/compressed_payload.hpp"
#include "workloads/exchange/payload_copy.hpp"

namespace tandem {

class RepeatedPayload {
 public:
  /// `worker`: its index. The arguments must outlive it.
  RepeatedPayload(const ExchangePlan& plan, Context& context, Replica& replica, int worker)
      : copy_(replica), messages_(plan, context, replica, worker, true) {}

  CompressedPayload& messages() { return messages_; }
  bool is_compressed() const { return messages_.is_used(); }

  /// An exchange begins.
  void begin(sync::Payload payload, int buckets) {
    payload_ = payload;
    prepared_.assign(static_cast<std::size_t>(buckets), 0);
  }
  /// Pre: the bucket of the payload is complete.
  void keep(int bucket) { copy_.keep(payload_, bucket); }
  /// Restores the bucket as it was kept: nothing of it was sent.
  void restore(int bucket) {
    if (std::exchange(stages_of(bucket), 0) > 0) messages_.take_back(bucket);
    copy_.restore(payload_, bucket);
  }
  /// Number of stages of the bucket's messages that were computed.
  std::size_t prepared(int bucket) const { return prepared_[static_cast<std::size_t>(bucket)]; }
  /// Starts to compute the next stage.
  Pending prepare_next(int bucket) { return messages_.prepare(payload_, bucket, stages_of(bucket)++); }
  /// The exchange has ended without this worker. Values that the others cannot have summed count as not
  /// sent.
  void end_without() {
    for (int bucket = 0; bucket < static_cast<int>(prepared_.size()) && is_compressed(); ++bucket) {
      const std::size_t prepared = std::exchange(stages_of(bucket), 0);
      if (prepared > 0 && prepared < messages_.stages(bucket)) messages_.take_back(bucket);
    }
  }

 private:
  std::size_t& stages_of(int bucket) { return prepared_[static_cast<std::size_t>(bucket)]; }

  PayloadCopy copy_;
  CompressedPayload messages_;
  sync::Payload payload_ = sync::Payload::gradient;
  std::vector<std::size_t> prepared_;
};

}  // namespace tandem

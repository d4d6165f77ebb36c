#include "workloads/exchange/compressed_payload.hpp"

#include <string>
#include <utility>

namespace tandem {
namespace {

std::string name_of(std::size_t bucket) { return "compression." + std::to_string(bucket); }

}  // namespace

CompressedPayload::CompressedPayload(const ExchangePlan& plan, Context& context, Replica& replica, int worker,
                                     bool repeats)
    : context_(context), replica_(replica) {
  if (plan.compression() == nullptr) return;
  for (const BucketDescription& bucket : replica.description().buckets)
    buckets_.push_back(make_compressed_sum(plan, context.device(), worker, bucket, repeats));
}

CompressedSum::Vector CompressedPayload::vector(int bucket, std::size_t stage) const {
  const auto vectors = of(bucket).vectors();
  return stage < vectors.size() ? vectors[stage] : CompressedSum::Vector{0, collectives::float_element};
}

void CompressedPayload::exchange_among(const std::vector<int>& order, int self) {
  for (const auto& bucket : buckets_) bucket->exchange_among(order, self);
}

Pending CompressedPayload::prepare(sync::Payload payload, int bucket, std::size_t stage) {
  return compute(Work::Kind::compress, payload, bucket, 1,
                 [&sum = of(bucket), stage](std::span<float> values) { sum.prepare(stage, values); });
}

Slice CompressedPayload::message(int bucket, std::size_t stage, Bytes size) {
  return {size, replica_.has_values() ? of(bucket).memory(stage).data() : nullptr};
}

Pending CompressedPayload::finish(sync::Payload payload, int bucket, int members) {
  return compute(Work::Kind::decompress, payload, bucket, vector(bucket, 0).gathered ? members : 1,
                 [&sum = of(bucket)](std::span<float> values) { sum.finish(values); });
}

void CompressedPayload::take_back(int bucket) {
  if (replica_.has_values()) of(bucket).take_back();
}

void CompressedPayload::serialise(StateArchive& state) {
  for (std::size_t bucket = 0; bucket < buckets_.size() && replica_.has_values(); ++bucket)
    buckets_[bucket]->serialise(state, name_of(bucket));
}

void CompressedPayload::serialise_common(StateArchive& state) {
  for (std::size_t bucket = 0; bucket < buckets_.size() && replica_.has_values(); ++bucket)
    buckets_[bucket]->serialise_common(state, name_of(bucket));
}

Bytes CompressedPayload::common_size() const {
  std::int64_t floats = 0;
  for (const auto& bucket : buckets_) floats += bucket->common_floats();
  return Bytes(floats * 4);
}

/// On the bucket's trained elements, as often as `times` vectors of them need it.
Pending CompressedPayload::compute(Work::Kind kind, sync::Payload payload, int bucket, int times,
                                   std::function<void(std::span<float>)> act) {
  const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
  const Slice values = replica_.payload(payload, extent.offset, extent.parameters);
  Kernel kernel;
  if (values.data != nullptr)
    kernel = [act = std::move(act), values, count = static_cast<std::size_t>(extent.parameters)] {
      act(std::span(reinterpret_cast<float*>(values.data), count));
    };
  return context_.compute({.kind = kind, .bucket = bucket, .bytes = values.size * times}, std::move(kernel));
}

}  // namespace tandem

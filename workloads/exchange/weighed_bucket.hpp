// A bucket of a worker's payload, multiplied by its weight in a sum: for exchanges that begin before the
// payload is complete.
#pragma once

#include <cstddef>

#include "workloads/context.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// Starts it. Pre: the bucket of the payload is complete.
inline Pending weigh_bucket(Context& context, Replica& replica, sync::Payload payload, int bucket,
                            double weight) {
  const BucketDescription& extent = replica.description().buckets[static_cast<std::size_t>(bucket)];
  const Slice values = replica.payload(payload, extent.offset, extent.exchanged());
  Kernel kernel;
  if (values.data != nullptr)
    kernel = [&device = replica.device(), values, count = extent.exchanged(), weight] {
      device.scale(reinterpret_cast<float*>(values.data), count, static_cast<float>(weight));
    };
  return context.compute({.kind = Work::Kind::reduce, .bucket = bucket, .bytes = values.size},
                         std::move(kernel));
}

}  // namespace tandem

// The buckets of PyTorch's DistributedDataParallel: any tensor may close one. Pure arithmetic.
#pragma once

#include "workloads/model/catalog.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// The same model in DDP's buckets: trained tensors in the order in which a backward pass completes them (the
/// last layer first; of a layer the bias before the weight where the layer is linear, else after it), a
/// bucket closed by the tensor with which it has the wanted size. Running statistics are buffers: DDP does
/// not sum them. The work of a bucket of `layers` is divided among its tensors by their sizes. Pre: a
/// tensor's position says its bucket, and tensors are in forward order.
ModelDescription in_ddp_buckets(const ModelDescription& layers, const BucketSizes& wanted);

}  // namespace tandem

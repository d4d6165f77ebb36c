// The sizes and flops of a model, derived from its definition. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// One tensor of the model, in forward order.
struct TensorDescription {
  std::string name;
  std::vector<std::int64_t> shape;
  bool statistic = false;   ///< a running statistic (batch normalisation), exchanged as a value, not trained
  std::int64_t offset = 0;  ///< first element in the flat layout
  std::int64_t elements() const;
};

/// Consecutive layers whose values are one message. Buckets are numbered in backward order: bucket 0 holds
/// the last layers. The flat layout of model, gradient and change is the same, without gaps: in a bucket
/// first the trained elements, then the statistics. As many tensors as possible are aligned for GPU kernels:
/// buckets, and tensors in both parts of a bucket, come first if their size is a multiple of 256 bytes, the
/// others in the order of the power of two that divides it. Otherwise buckets are in their own order, and
/// tensors in forward order.
struct BucketDescription {
  std::int64_t offset = 0;        ///< first element in the flat layout
  std::int64_t parameters = 0;    ///< trained elements
  std::int64_t statistics = 0;    ///< elements of running statistics
  Flops forward;                  ///< a sample
  Flops backward;                 ///< a sample
  bool shares_statistics = true;  ///< whether they are exchanged with the trained elements
  std::int64_t elements() const { return parameters + statistics; }
  /// The number of elements, from the first, that are exchanged.
  std::int64_t exchanged() const { return parameters + (shares_statistics ? statistics : 0); }
  /// Size of the exchanged elements.
  Bytes bytes() const { return Bytes(exchanged() * 4); }
};

struct ModelDescription {
  std::string name;
  std::vector<TensorDescription> tensors;
  std::vector<BucketDescription> buckets;
  /// Values per sample between layers, the pixels among them, in units of a float.
  struct Activations {
    std::int64_t kept = 0;    ///< kept by a forward pass for the backward pass
    std::int64_t widest = 0;  ///< input and output of the largest layer: the need of an evaluation
  };
  std::optional<Activations> activations = {};  ///< none: not known
  /// Running statistics apart from the buckets, which the first worker sends to all before each forward pass.
  Bytes buffers{0};

  std::int64_t elements() const;
  std::int64_t parameters() const;
  Bytes bytes() const { return Bytes(elements() * 4); }
  Flops forward() const;   ///< per sample, all buckets
  Flops backward() const;  ///< per sample, all buckets
};

}  // namespace tandem

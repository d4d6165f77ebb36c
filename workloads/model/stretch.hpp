// Divides a model's trained elements for compression: stretches of tensors, or of rows of tensors.
#pragma once

#include "policies/compression/codec.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// Elements [begin, begin + elements) of the flat layout. A tensor is a matrix of its first extent by the
/// product of the others. If a tensor is cut, its complete rows stay a matrix, and incomplete rows at either
/// end become separate parts. A model without tensors, given by its sizes, is one nearly square matrix per
/// stretch. Pre: all elements are trained, and of one bucket.
compression::Stretch stretch_of(const ModelDescription& model, std::int64_t begin, std::int64_t elements);

}  // namespace tandem

// A model's trained elements as a compression sees them: stretches made of tensors, or of their rows.
#pragma once

#include "policies/compression/codec.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// Elements [begin, begin + elements) of the flat layout. A tensor is a matrix of its first extent by the
/// product of the others; of one that is cut, whole rows stay a matrix, and what is left of rows at either
/// end are parts of their own. A model without tensors, given by its sizes, counts as one nearly square
/// matrix a stretch. Pre: all trained, and of one bucket.
compression::Stretch stretch_of(const ModelDescription& model, std::int64_t begin, std::int64_t elements);

}  // namespace tandem

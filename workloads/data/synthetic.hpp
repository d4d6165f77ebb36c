// Generates images that a model can learn: each class has its own pattern of blobs, and each sample shifts
// and dims it and adds noise. Pure: the same seed gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/data/dataset.hpp"

namespace tandem {

/// `count` records of a part. Sample i does not depend on the count.
std::vector<std::byte> make_synthetic(const DatasetInfo& info, Dataset::Part part, std::int64_t count,
                                      std::uint64_t seed);
/// The labels of those records.
std::vector<std::uint16_t> synthetic_labels(const DatasetInfo& info, Dataset::Part part, std::int64_t count,
                                            std::uint64_t seed);

}  // namespace tandem

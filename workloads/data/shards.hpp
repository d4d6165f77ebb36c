// Data set `shards`: images in tar archives with an index, which can be read from front to back, or sample by
// sample. `tandem data pack` writes them.
#pragma once

#include <memory>

#include "workloads/data/sample_set.hpp"

namespace tandem {

/// Ids have the order of the index. Errors: ConfigError for an index that is missing, broken, or disagrees
/// with an archive: missing, of another size, or without a sample where the index has one.
std::shared_ptr<const SampleSet> open_shards(const DatasetSetting& setting);

}  // namespace tandem

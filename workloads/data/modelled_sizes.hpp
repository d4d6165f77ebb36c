// Data set `sizes`: samples that have sizes and classes, but no content. For modelled mathematics only.
#pragma once

#include <memory>
#include <vector>

#include "policies/vocabulary/options.hpp"
#include "workloads/data/sample_set.hpp"

namespace tandem {

/// The options of the data set. Their defaults are those of ImageNet-1k, as are its numbers of samples.
const std::vector<OptionSpec>& modelled_sizes_options();
/// Sizes are drawn from the seed, or read from a file; classes are drawn in the same way. Sample i does not
/// depend on the number of samples. Errors: ConfigError naming the option, or the file and the line.
std::shared_ptr<const SampleSet> modelled_sizes(const DatasetSetting& setting);

}  // namespace tandem

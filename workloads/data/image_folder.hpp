// Data set `folder`: images in a folder per class, below `train` and `test` (or `val`).
#pragma once

#include <memory>

#include "workloads/data/sample_set.hpp"

namespace tandem {

/// Classes are numbered in the order of their names. Ids go round all classes, so that the first samples are
/// of all of them: the first file of each class, then the second one, and so on, by name. Files that are
/// neither .jpg, .jpeg nor .png are left out. Errors: ConfigError.
std::shared_ptr<const SampleSet> open_image_folder(const DatasetSetting& setting);

}  // namespace tandem

// Descriptions of TorchScript models, kept in a file by the checksum of the model: finding them takes
// libtorch, which loads and traces the module for seconds.
#pragma once

#include <optional>

#include "workloads/model/catalog.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// As an earlier command found it for the same model file, images and buckets; none: not known, the cache is
/// damaged, or the model file cannot be read.
std::optional<ModelDescription> cached_description(const LearnerSetting& setting);

/// Keeps it in MODEL.pt.description.json, or, where that cannot be written, in the user's cache directory.
/// The file is replaced atomically. Without a place to write, nothing is kept.
void keep_description(const LearnerSetting& setting, const ModelDescription& description);

}  // namespace tandem

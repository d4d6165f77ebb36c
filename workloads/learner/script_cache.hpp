// Descriptions of TorchScript models, kept in a file by the checksum of the model: finding them takes
// libtorch, which loads and traces the module for seconds.
#pragma once

#include <optional>
#include <string>

#include "workloads/model/catalog.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// Names all that a description depends on: the content and name of the model's file, images, buckets,
/// precision. Empty: the file cannot be read.
std::string description_key(const LearnerSetting& setting);

/// As an earlier command found it for this key, with the same libtorch (a build without libtorch takes any);
/// none: not known, the cache is damaged, or the key is empty.
std::optional<ModelDescription> cached_description(const LearnerSetting& setting, const std::string& key);

/// Keeps it in MODEL.pt.description.json, or, where that cannot be written, in the user's cache directory
/// ($XDG_CACHE_HOME/tandem or ~/.cache/tandem). `key`: from before the model was read; nothing is kept if the
/// file has been replaced since. The cache is replaced atomically: of processes that write at the same time,
/// the last one's entry stays, and the others' are found again. Without a place to write, nothing is kept.
void keep_description(const LearnerSetting& setting, const std::string& key,
                      const ModelDescription& description);

}  // namespace tandem

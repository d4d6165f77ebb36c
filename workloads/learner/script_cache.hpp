// Descriptions of TorchScript models, kept in a file by the checksum of the model. Without the file,
// libtorch has to load and trace the module, for seconds.
#pragma once

#include <optional>
#include <string>

#include "workloads/model/catalog.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// Names everything on which a description depends: the content and name of the model's file, images,
/// buckets, precision. Empty: the file cannot be read.
std::string description_key(const LearnerSetting& setting);

/// The description that an earlier command found for this key with the same libtorch (with any, for a build
/// without libtorch). None: not known, the cache is damaged, or the key is empty.
std::optional<ModelDescription> cached_description(const LearnerSetting& setting, const std::string& key);

/// Writes the description to MODEL.pt.description.json, or, where that cannot be written, to the user's
/// cache directory ($XDG_CACHE_HOME/tandem or ~/.cache/tandem); otherwise nowhere. `key`: from before the
/// model was read; nothing is written if the file has been replaced since. The cache is replaced atomically.
/// When several processes write concurrently, the last one's entry stays, and the others are computed again.
void keep_description(const LearnerSetting& setting, const std::string& key,
                      const ModelDescription& description);

}  // namespace tandem

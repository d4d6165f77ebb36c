// The catalogues as text for people.
#pragma once

#include <string>

namespace tandem::cli {

/// Every name of a kind (sync, collective, compression, sharding, cache, split, model, dataset, device, or
/// all) with its summary, paper and options. Errors: ConfigError for another kind.
std::string list_text(const std::string& kind);

}  // namespace tandem::cli

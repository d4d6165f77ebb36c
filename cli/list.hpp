// The catalogues as text for people.
#pragma once

#include <string>

namespace tandem::cli {

/// Every name with its line, paper and options; `kind` is sync, collective, sharding, cache, split, model,
/// dataset or device, or empty for all. Errors: ConfigError for another kind.
std::string list_text(const std::string& kind);

}  // namespace tandem::cli

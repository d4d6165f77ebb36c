// The catalogues as text for people.
#pragma once

#include <string>

namespace tandem::cli {

/// Every name of a kind (sync, collective, compression, sharding, cache, split, model, dataset, device, or
/// all) with its summary, paper and options; with a name, that one alone. Errors: ConfigError for another
/// kind, a name that the kind does not have, or a name of all kinds.
std::string list_text(const std::string& kind, const std::string& name = "");

}  // namespace tandem::cli

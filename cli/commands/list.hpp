// The catalogues as text for people.
#pragma once

#include <string>

namespace tandem::cli {

/// Every name of a kind, or of all kinds, with its summary, paper and options; with a name, that one alone.
/// `tandem list --help` names the kinds. Errors: ConfigError for an unknown kind or name, or a name together
/// with `all`.
std::string list_text(const std::string& kind, const std::string& name = "");

}  // namespace tandem::cli

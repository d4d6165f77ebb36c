// The catalogues as text for people.
#pragma once

#include <string>

namespace tandem::cli {

/// Every name of a kind (`tandem list --help` names the kinds), or of all kinds, with its summary, paper and
/// options; with a name, that one alone. Errors: ConfigError for another kind, a name that the kind does not
/// have, or a name together with `all`.
std::string list_text(const std::string& kind, const std::string& name = "");

}  // namespace tandem::cli

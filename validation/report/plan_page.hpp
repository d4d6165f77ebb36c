// The page of a plan that `tandem plan` made.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tandem::validation {

/// One self-contained page. `document`: see cli/commands/plan_page.hpp.
std::string plan_html(const nlohmann::json& document);

}  // namespace tandem::validation

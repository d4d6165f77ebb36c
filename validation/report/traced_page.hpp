// The page of a job that `tandem import` read from a trace.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tandem::validation {

/// One self-contained page. `document`: see cli/commands/import_page.hpp.
std::string traced_job_html(const nlohmann::json& document);

}  // namespace tandem::validation

// The first lines of every report: the question, the best configuration in words, warnings.
#pragma once

#include <nlohmann/json.hpp>

#include "validation/report/page.hpp"

namespace tandem::validation {

/// Of a document with the keys question, headline and warnings.
void add_opening(const nlohmann::json& document, Page& page);

}  // namespace tandem::validation

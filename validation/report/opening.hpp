// The first lines of a report: the question, the best configuration in words, warnings.
#pragma once

#include "validation/report/page.hpp"
#include "validation/report/report.hpp"

namespace tandem::validation {

void add_opening(const Report& report, Page& page);

}  // namespace tandem::validation

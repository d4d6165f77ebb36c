// The answer of a study on its page: the box, a table with one axis across for each panel, and small
// multiples. Pure.
#pragma once

#include "validation/report/answer.hpp"
#include "validation/report/page.hpp"

namespace tandem::validation {

/// The question and the answer.
void add_answer(const Answer& answer, Page& page);
/// Charts of efficiency and of the measures, and the tables of the panels. Nothing without panels.
void add_comparison(const Answer& answer, Page& page);
/// A chart for each place of the grid. `id`: of the canvases, "ID-0", "ID-1" ...; `height`: pixels; 0: one
/// row for each variant. No charts when they are too many to be read.
Charts charts_of_places(const Answer& answer, const std::string& id, std::size_t height);

/// A chart for each panel, "ID-0", "ID-1" ...: `name` along the axis across.
Charts charts_of_panels(const Answer& answer, const std::string& id, const std::string& name);

/// A table for each panel and measure: variants by the axis across, or by measures where there is none.
void add_comparison_tables(const Answer& answer, Page& page);

}  // namespace tandem::validation

// Texts that the report's page is put together from, embedded when Tandem is built.
#pragma once

#include <string_view>

namespace tandem::validation::pieces {

extern const std::string_view
    page;  ///< with {{title}}, {{style}}, {{body}}, {{data}}, {{chart_library}}, {{script}}
extern const std::string_view style;
extern const std::string_view script;
extern const std::string_view chart_library;  ///< Chart.js, MIT licence, as Debian ships it

}  // namespace tandem::validation::pieces

// Texts that the report's page is put together from, embedded when Tandem is built.
#pragma once

#include <string_view>

namespace tandem::validation::pieces {

extern const std::string_view
    page;  ///< with {{title}}, {{style}}, {{body}}, {{data}}, {{chart_library}}, {{base}}, {{scripts}}
extern const std::string_view style;
extern const std::string_view base;           ///< what all charts share
extern const std::string_view charts;         ///< draws what is of all configurations
extern const std::string_view explore;        ///< draws the configuration that is chosen
extern const std::string_view study;          ///< draws the configurations of a study
extern const std::string_view chart_library;  ///< Chart.js, MIT licence, as Debian ships it

}  // namespace tandem::validation::pieces

// The texts that HTML pages consist of, embedded when Tandem is built.
#pragma once

#include <string_view>

namespace tandem::validation::pieces {

/// With {{title}}, {{style}}, {{text}}, {{data}}, {{chart_library}}, {{base}}, {{blocks}} and {{scripts}}.
extern const std::string_view page;
extern const std::string_view style;
extern const std::string_view base;       ///< the common part of all scripts
extern const std::string_view blocks;     ///< draws headings, notes and tables
extern const std::string_view cache;      ///< draws miss ratios over the capacity
extern const std::string_view charts;     ///< draws the charts over all configurations of a report
extern const std::string_view data;       ///< draws from where samples came, of one or two results
extern const std::string_view explore;    ///< draws the chosen configuration of a report
extern const std::string_view lifetimes;  ///< draws the share of machines alive by age
extern const std::string_view members;    ///< draws machines that depart and arrive, of one or two results
extern const std::string_view plan;       ///< draws cost against time of a plan
extern const std::string_view predictor;  ///< draws the page of a predictor of times
extern const std::string_view scaling;    ///< draws the speed of a job by its number of workers
extern const std::string_view study;      ///< draws the charts of a study
extern const std::string_view results;    ///< draws the page of many results
extern const std::string_view traced;     ///< draws the page of an imported job
extern const std::string_view chart_library;  ///< Chart.js, MIT licence, as Debian ships it

}  // namespace tandem::validation::pieces

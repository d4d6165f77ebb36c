#include "validation/report/several_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

const char* const definition =
    "The times of a job count from its own start. Slow-down: how many times as long as alone on the "
    "platform. "
    "Jain index: of the speeds of the jobs relative to those alone; 1 if all lose equally, 1/n if one of n "
    "has "
    "all. Stall: share of their steps that workers waited for batches, in warm epochs. Hit ratio: samples "
    "from "
    "the tiers of the node that was asked.";

/// Null when it was not compared.
const ReportConfiguration* find_configuration(const Report& report, const std::string& name) {
  const auto& all = report.configurations;
  const auto own = std::ranges::find(all, name, &ReportConfiguration::name);
  return own == all.end() || own->failed() ? nullptr : &*own;
}

Cell both_cell(const Figure& figure) { return both_worlds(figure.simulated, figure.measured, figure.unit); }

Cell error_cell(const Figure& figure) { return signed_percent(figure.error); }

}  // namespace

// ---- Validations ----

ReportJobs report_jobs(const SeveralJobs& several) {
  ReportJobs all{.name = several.name, .figures = several.figures};
  for (const auto& job : several.jobs)
    all.jobs.push_back({job.name, several.name + '/' + job.name, job.start_s});
  return all;
}

Table jobs_table(const Report& report) {
  struct Shown {
    const char* figure;
    const char* name;
    bool with_error;
  };
  constexpr Shown shown[] = {{"makespan", "Time of the job", true},
                             {"slow_down", "Slow-down against alone", true},
                             {"cold_epoch_time", "Time of the cold epoch", true},
                             {"epoch_time", "Time per warm epoch", true},
                             {"stall", "Stall", false},
                             {"cache.hit_ratio", "Hit ratio", false}};
  Table table{.columns = {{"Configuration"}, {"Job", true}, {"Begins"}}, .size = Table::Size::scrolling};
  for (const Shown& one : shown) {
    table.columns.push_back({one.name});
    if (one.with_error) table.columns.push_back({"Error"});
  }
  for (const ReportJobs& all : report.several_jobs)
    for (const auto& job : all.jobs) {
      const ReportConfiguration* configuration = find_configuration(report, job.configuration);
      if (configuration == nullptr) continue;
      Row row{{all.name, job.job, with_unit(job.start_s, Unit::seconds)}};
      for (const Shown& one : shown) {
        const ReportFigure* figure = configuration->find(one.figure);
        row.cells.push_back(figure == nullptr ? Cell("-") : both_cell(*figure));
        if (one.with_error) row.cells.push_back(figure == nullptr ? Cell("-") : error_cell(*figure));
      }
      table.rows.push_back(std::move(row));
    }
  return without_empty_columns(std::move(table));
}

Table all_jobs_table(const Report& report) {
  Table table{.columns = {{"Configuration"},
                          {"Figure of all its jobs", true},
                          {"Simulated / measured"},
                          {"Error"},
                          {"Noise floor"}}};
  for (const ReportJobs& all : report.several_jobs) {
    std::string name = all.name;
    for (const Figure& figure : all.figures) {
      table.rows.push_back({{name, figure.name, both_cell(figure), error_cell(figure),
                             percent(value_or_nan(figure.noise_floor))}});
      name.clear();
    }
  }
  return without_empty_columns(std::move(table));
}

void add_several_jobs(const Report& report, Page& page) {
  Table jobs = jobs_table(report);
  if (jobs.rows.empty()) return;
  page.add(Heading{2, "Several jobs on one platform, simulated / measured"}, Note{definition},
           std::move(jobs), all_jobs_table(report));
}

// ---- Studies ----

StudyResult study_job(const StudyConfiguration& configuration, const std::string& job, const JobsSummary& all,
                      const Summary& summary, const RunInfo& run, const std::optional<Binding>& binding) {
  StudyResult result = study_result(configuration, summary, run, binding);
  const JobSummary& own = all.jobs.at(job);
  result.job = job;
  result.start_s = own.start_s;
  if (own.alone) result.alone_makespan_s = own.alone->makespan_s;
  result.slow_down = own.slow_down;
  return result;
}

StudyJobs study_jobs(const JobsSummary& all) {
  StudyJobs jobs{.makespan_s = all.makespan_s,
                 .jain_index = all.jain_index,
                 .slow_down = all.slow_down,
                 .shared_cache = all.shared_cache.value_or(std::nullopt)};
  for (const auto& [name, own] : all.jobs) jobs.jobs.push_back({.job = name, .start_s = own.start_s});
  return jobs;
}

namespace {

std::string seconds_text(const std::optional<double>& value) {
  return with_unit(value_or_nan(value), Unit::seconds);
}
std::string share_text(const std::optional<double>& value) { return percent(value_or_nan(value)); }
std::string number_text(const std::optional<double>& value) {
  return with_unit(value_or_nan(value), Unit::count);
}

}  // namespace

Table study_jobs_table(const Study& study) {
  Table table{.columns = {{"Configuration"},
                          {"Job", true},
                          {"Begins"},
                          {"Time of the job"},
                          {"alone"},
                          {"Slow-down"},
                          {"Mean step time"},
                          {"Time per warm epoch"},
                          {"Stall"},
                          {"Hit ratio"}},
              .size = Table::Size::scrolling};
  for (const StudyJobs& all : study.several_jobs)
    for (const auto& job : all.jobs) {
      const auto own = std::ranges::find(study.configurations, job.configuration, &StudyResult::name);
      if (own == study.configurations.end() || own->failed()) continue;
      const DataPart warm = own->data && own->data->warm ? *own->data->warm : DataPart{};
      table.rows.push_back(
          {{all.name, job.job, seconds_text(job.start_s), seconds_text(own->makespan_s),
            seconds_text(own->alone_makespan_s), number_text(own->slow_down), seconds_text(own->step_time_s),
            seconds_text(warm.epoch_time_s), share_text(warm.stall), share_text(own->cache_hit_ratio)}});
    }
  return without_empty_columns(std::move(table));
}

Table study_all_jobs_table(const Study& study) {
  Table table{.columns = {{"Configuration"},
                          {"Jobs"},
                          {"Makespan of all"},
                          {"Jain index"},
                          {"Least slow-down"},
                          {"Largest slow-down"},
                          {"Hit ratio of the shared cache"},
                          {"Share of the bound"}}};
  for (const StudyJobs& all : study.several_jobs) {
    const auto limit = [&](double JobsSummary::Limits::*end) {
      return number_text(all.slow_down ? std::optional(*all.slow_down.*end) : std::nullopt);
    };
    const auto& cache = all.shared_cache;
    table.rows.push_back(
        {{all.name, std::to_string(all.jobs.size()), seconds_text(all.makespan_s),
          number_text(all.jain_index), limit(&JobsSummary::Limits::min), limit(&JobsSummary::Limits::max),
          share_text(cache ? std::optional(cache->hit_ratio) : std::nullopt),
          share_text(cache ? cache->attained : std::nullopt)}});
  }
  return without_empty_columns(std::move(table));
}

void add_jobs_of_study(const Study& study, Page& page) {
  Table jobs = study_jobs_table(study);
  if (jobs.rows.empty()) return;
  page.add(Heading{2, "Several jobs on one platform"}, Note{definition}, study_all_jobs_table(study),
           std::move(jobs));
}

}  // namespace tandem::validation

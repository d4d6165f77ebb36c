#include "validation/report/several_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

constexpr const char* key = "several_jobs";

const char* const definition =
    "The times of a job count from its own start. Slow-down: how many times as long as alone on the "
    "platform. "
    "Jain index: of the speeds of the jobs relative to those alone; 1 if all lose equally, 1/n if one of n "
    "has "
    "all. Stall: share of their steps that workers waited for batches, in warm epochs. Hit ratio: samples "
    "from "
    "the tiers of the node that was asked.";

/// The configurations with several jobs.
std::vector<const json*> all_of(const json& document) {
  return document.contains(key) ? pointers_to(document.at(key)) : std::vector<const json*>{};
}

/// Null when it was not compared, or not simulated.
const json* find_configuration(const json& document, const std::string& name) {
  for (const json& own : document.at("configurations"))
    if (own.at("name") == name) return own.at("failure") == "" ? &own : nullptr;
  return nullptr;
}

Cell both_cell(const json& figure) {
  return both_worlds(number_or_nan(figure.at("simulated")), number_or_nan(figure.at("measured")),
                     unit_of(figure.at("unit")));
}

Cell error_cell(const json& figure) { return signed_percent(number_or_nan(figure.at("error"))); }

/// Calls `add` with each job and the configuration that has its figures.
void each_job(const json& document,
              const std::function<void(const json& all, const json& job, const json& configuration)>& add) {
  for (const json* all : all_of(document))
    for (const json& job : all->at("jobs"))
      if (const json* own = find_configuration(document, job.at("configuration"))) add(*all, job, *own);
}

std::string seconds_text(const json& value) { return with_unit(number_or_nan(value), Unit::seconds); }
std::string share_text(const json& value) { return percent(number_or_nan(value)); }
std::string number_text(const json& value) { return with_unit(number_or_nan(value), Unit::count); }

json value_at(const json& document, const char* place) {
  const json::json_pointer at(place);
  return document.contains(at) ? document.at(at) : json();
}

}  // namespace

// ---- Validations ----

json several_jobs_document(const SeveralJobs& several) {
  json jobs = json::array(), figures = json::array();
  for (const auto& job : several.jobs)
    jobs.push_back(
        {{"job", job.name}, {"configuration", several.name + '/' + job.name}, {"start_s", job.start_s}});
  for (const Figure& figure : several.figures)
    figures.push_back({{"key", figure.key},
                       {"name", figure.name},
                       {"unit", unit_name(figure.unit)},
                       {"simulated", figure.simulated},
                       {"measured", figure.measured},
                       {"error", figure.error},
                       {"noise_floor", figure.noise_floor ? json(*figure.noise_floor) : json()}});
  return {{"name", several.name}, {"jobs", std::move(jobs)}, {"figures", std::move(figures)}};
}

Table jobs_table(const json& document) {
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
  each_job(document, [&](const json& all, const json& job, const json& configuration) {
    Row row{{all.at("name").get<std::string>(), job.at("job").get<std::string>(),
             seconds_text(job.at("start_s"))}};
    for (const Shown& one : shown) {
      const json* figure = find_figure(configuration, one.figure);
      row.cells.push_back(figure == nullptr ? Cell("-") : both_cell(*figure));
      if (one.with_error) row.cells.push_back(figure == nullptr ? Cell("-") : error_cell(*figure));
    }
    table.rows.push_back(std::move(row));
  });
  return without_empty_columns(std::move(table));
}

Table all_jobs_table(const json& document) {
  Table table{.columns = {{"Configuration"},
                          {"Figure of all its jobs", true},
                          {"Simulated / measured"},
                          {"Error"},
                          {"Noise floor"}}};
  for (const json* all : all_of(document)) {
    std::string name = all->at("name");
    for (const json& figure : all->at("figures")) {
      table.rows.push_back({{name, figure.at("name").get<std::string>(), both_cell(figure),
                             error_cell(figure), share_text(figure.at("noise_floor"))}});
      name.clear();
    }
  }
  return without_empty_columns(std::move(table));
}

void add_several_jobs(const json& document, Page& page) {
  Table jobs = jobs_table(document);
  if (jobs.rows.empty()) return;
  page.add(Heading{2, "Several jobs on one platform, simulated / measured"}, Note{definition},
           std::move(jobs), all_jobs_table(document));
}

// ---- Studies ----

json study_job(const StudyConfiguration& configuration, const std::string& job, const json& all,
               const json& summary, const json& run, const json& binding) {
  json document = study_configuration(configuration, summary, run, binding);
  const json& own = all.at("jobs").at(job);
  document["job"] = job;
  document["start_s"] = own.at("start_s");
  document["alone_makespan_s"] = value_at(own, "/alone/makespan_s");
  document["slow_down"] = value_at(own, "/slow_down");
  return document;
}

json study_several_jobs(const json& all) {
  json jobs = json::array();
  for (const auto& [name, own] : all.at("jobs").items())
    jobs.push_back({{"job", name}, {"start_s", own.at("start_s")}});
  return {{"jobs", std::move(jobs)},
          {"makespan_s", all.at("makespan_s")},
          {"jain_index", value_at(all, "/jain_index")},
          {"slow_down", value_at(all, "/slow_down")},
          {"shared_cache", value_at(all, "/shared_cache")}};
}

Table study_jobs_table(const json& document) {
  Table table{.columns = {{"Configuration"},
                          {"Job", true},
                          {"Begins"},
                          {"Time of the job"},
                          {"alone"},
                          {"Slow-down"},
                          {"Step time"},
                          {"Time per warm epoch"},
                          {"Stall"},
                          {"Hit ratio"}},
              .size = Table::Size::scrolling};
  each_job(document, [&](const json& all, const json& job, const json& own) {
    table.rows.push_back(
        {{all.at("name").get<std::string>(), job.at("job").get<std::string>(),
          seconds_text(job.at("start_s")), seconds_text(own.at("makespan_s")),
          seconds_text(own.at("alone_makespan_s")), number_text(own.at("slow_down")),
          seconds_text(own.at("step_time_s")), seconds_text(value_at(own, "/data/warm/epoch_time_s")),
          share_text(value_at(own, "/data/warm/stall")), share_text(own.at("cache_hit_ratio"))}});
  });
  return without_empty_columns(std::move(table));
}

Table study_all_jobs_table(const json& document) {
  Table table{.columns = {{"Configuration"},
                          {"Jobs"},
                          {"Makespan of all"},
                          {"Jain index"},
                          {"Least slow-down"},
                          {"Largest slow-down"},
                          {"Hit ratio of the shared cache"},
                          {"Share of the bound"}}};
  for (const json* all : all_of(document))
    table.rows.push_back(
        {{all->at("name").get<std::string>(), std::to_string(all->at("jobs").size()),
          seconds_text(all->at("makespan_s")), number_text(all->at("jain_index")),
          number_text(value_at(*all, "/slow_down/min")), number_text(value_at(*all, "/slow_down/max")),
          share_text(value_at(*all, "/shared_cache/hit_ratio")),
          share_text(value_at(*all, "/shared_cache/attained"))}});
  return without_empty_columns(std::move(table));
}

void add_jobs_of_study(const json& document, Page& page) {
  Table jobs = study_jobs_table(document);
  if (jobs.rows.empty()) return;
  page.add(Heading{2, "Several jobs on one platform"}, Note{definition}, study_all_jobs_table(document),
           std::move(jobs));
}

}  // namespace tandem::validation

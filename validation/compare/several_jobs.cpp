#include "validation/compare/several_jobs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/records/jobs_summary.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

struct Place {
  const char* key;
  const char* name;
  Unit unit;
  const char* at;
};
constexpr Place places[] = {
    {"makespan", "makespan of all jobs", Unit::seconds, "/makespan_s"},
    {"jain_index", "Jain index", Unit::count, "/jain_index"},
    {"least_slow_down", "least slow-down", Unit::count, "/slow_down/min"},
    {"largest_slow_down", "largest slow-down", Unit::count, "/slow_down/max"},
    {"shared_hit_ratio", "hit ratio of the shared cache", Unit::ratio, "/shared_cache/hit_ratio"},
    {"shared_byte_hit_ratio", "bytes from the shared cache", Unit::ratio, "/shared_cache/byte_hit_ratio"},
};

}  // namespace

json read_summary_of_jobs(const std::string& directory) {
  return read_json_file(directory + "/summary.json", "the summary of several jobs");
}

Results read_job(const std::string& directory, const std::string& job) {
  Results results = read_results(directory_of_job(directory, job));
  const json all = read_summary_of_jobs(directory);
  const json::json_pointer own("/jobs/" + job);
  if (!all.contains(own))
    throw ConfigError(directory + "/summary.json: expected the key jobs." + job + ", found none");
  results.summary[several_jobs_key] = all.at(own);
  return results;
}

SeveralJobs compare_jobs(const std::string& name, const json& simulated, const std::vector<json>& measured) {
  TANDEM_CHECK(!measured.empty(), "configuration", name);
  SeveralJobs all{.name = name};
  for (const auto& [job, own] : simulated.at("jobs").items())
    all.jobs.push_back({job, own.at("start_s").get<double>()});
  for (const Place& place : places) {
    const json::json_pointer at(place.at);
    const auto has = [&](const json& summary) { return summary.contains(at) && summary.at(at).is_number(); };
    if (!has(simulated) || !std::ranges::all_of(measured, has)) continue;
    std::vector<double> values;
    for (const json& run : measured) values.push_back(run.at(at).get<double>());
    Figure figure{.key = place.key, .name = place.name, .unit = place.unit};
    figure.simulated = simulated.at(at).get<double>();
    figure.measured = std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
    figure.error = relative_error(figure.simulated, figure.measured);
    figure.noise_floor = noise_floor(values);
    all.figures.push_back(std::move(figure));
  }
  return all;
}

}  // namespace tandem::validation

#include "validation/compare/several_jobs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/records/jobs_summary.hpp"

namespace tandem::validation {
namespace {

std::optional<double> makespan(const JobsSummary& all) { return all.makespan_s; }
std::optional<double> jain(const JobsSummary& all) { return all.jain_index; }

template <double JobsSummary::Limits::*limit>
std::optional<double> slow_down(const JobsSummary& all) {
  return all.slow_down ? std::optional(*all.slow_down.*limit) : std::nullopt;
}

template <double SharedCacheSummary::*ratio>
std::optional<double> of_cache(const JobsSummary& all) {
  return all.shared_cache && *all.shared_cache ? std::optional(**all.shared_cache.*ratio) : std::nullopt;
}

struct FigureOfAll {
  const char* key;
  const char* name;
  Unit unit;
  std::optional<double> (*value)(const JobsSummary&);
};
constexpr FigureOfAll figures_of_all[] = {
    {"makespan", "makespan of all jobs", Unit::seconds, makespan},
    {"jain_index", "Jain index", Unit::count, jain},
    {"least_slow_down", "least slow-down", Unit::count, slow_down<&JobsSummary::Limits::min>},
    {"largest_slow_down", "largest slow-down", Unit::count, slow_down<&JobsSummary::Limits::max>},
    {"shared_hit_ratio", "hit ratio of the shared cache", Unit::ratio,
     of_cache<&SharedCacheSummary::hit_ratio>},
    {"shared_byte_hit_ratio", "bytes from the shared cache", Unit::ratio,
     of_cache<&SharedCacheSummary::byte_hit_ratio>},
};

}  // namespace

Results read_job(const std::string& directory, const std::string& job) {
  Results results = read_results(directory_of_job(directory, job));
  const JobsSummary all = read_jobs_summary(directory);
  const auto own = all.jobs.find(job);
  if (own == all.jobs.end())
    throw ConfigError(directory + "/summary.json: expected the key jobs." + job + ", found none");
  results.among_jobs = own->second;
  return results;
}

SeveralJobs compare_jobs(const std::string& name, const JobsSummary& simulated,
                         const std::vector<JobsSummary>& measured) {
  TANDEM_CHECK(!measured.empty(), "configuration", name);
  SeveralJobs all{.name = name};
  for (const auto& [job, own] : simulated.jobs) all.jobs.push_back({job, own.start_s});
  for (const FigureOfAll& one : figures_of_all) {
    const auto has = [&](const JobsSummary& summary) { return one.value(summary).has_value(); };
    if (!has(simulated) || !std::ranges::all_of(measured, has)) continue;
    std::vector<double> values;
    for (const JobsSummary& run : measured) values.push_back(*one.value(run));
    Figure figure{.key = one.key, .name = one.name, .unit = one.unit};
    figure.simulated = *one.value(simulated);
    figure.measured = std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
    figure.error = relative_error(figure.simulated, figure.measured);
    figure.noise_floor = noise_floor(values);
    all.figures.push_back(std::move(figure));
  }
  return all;
}

}  // namespace tandem::validation

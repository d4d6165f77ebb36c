#include "workloads/records/jobs_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/jobs_fields.hpp"
#include "workloads/records/summary.hpp"

namespace tandem {
namespace {

using nlohmann::json;

bool were_all_alone(std::span<const JobInCompany> jobs) {
  return std::ranges::all_of(jobs, [](const JobInCompany& job) { return job.alone.has_value(); });
}

/// Speeds relative to those alone.
std::vector<double> shares_of(std::span<const JobInCompany> jobs) {
  std::vector<double> shares;
  for (const JobInCompany& job : jobs) shares.push_back(1.0 / job.slow_down());
  return shares;
}

std::string seconds_text(Seconds time) { return significant(time.count(), 4) + " s"; }

}  // namespace

std::string directory_of_job(const std::string& directory, const std::string& name) {
  return directory + "/jobs/" + name;
}

std::string directory_of_job_alone(const std::string& directory, const std::string& name) {
  return directory + "/alone/" + name;
}

JobTimesOf job_times_of(const Summary& summary) {
  JobTimesOf times{.makespan = Seconds(summary.makespan_s)};
  // Without a step after the first ones there is no mean.
  if (!std::isnan(summary.step_time.mean)) times.step = Seconds(summary.step_time.mean);
  return times;
}

double jain_index(std::span<const double> shares) {
  double sum = 0.0, squares = 0.0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  TANDEM_CHECK(squares > 0.0, "shares", shares.size(), "sum of squares", squares);
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

JobsSummary jobs_summary(std::span<const JobInCompany> jobs) {
  JobsSummary summary;
  Seconds end{0};
  for (const JobInCompany& job : jobs) {
    JobSummary& own = summary.jobs[job.name];
    own = {.start_s = job.start.count(),
           .makespan_s = job.together.makespan.count(),
           .step_time_s = job.together.step.count()};
    end = std::max(end, job.start + job.together.makespan);
    if (!job.alone) continue;
    own.alone = {job.alone->makespan.count(), job.alone->step.count()};
    own.slow_down = job.slow_down();
    if (job.alone->step > Seconds(0)) own.step_slow_down = job.step_slow_down();
  }
  summary.makespan_s = end.count();
  if (!were_all_alone(jobs)) return summary;
  const auto [least, most] = std::ranges::minmax(jobs, {}, &JobInCompany::slow_down);
  summary.slow_down = {least.slow_down(), most.slow_down()};
  summary.jain_index = jain_index(shares_of(jobs));
  return summary;
}

json to_json(const JobsSummary& summary) { return write_fields(summary); }

JobsSummary read_jobs_summary(const std::string& directory) {
  const std::string file = directory + "/summary.json";
  return read_fields<JobsSummary>(read_json_file(file, "the summary of several jobs"), file);
}

std::string jobs_text(std::span<const JobInCompany> jobs) {
  std::string text;
  for (const JobInCompany& job : jobs) {
    text += fmt::format("  job {}: {} for the job, {} per step", job.name,
                        seconds_text(job.together.makespan), seconds_text(job.together.step));
    if (job.start > Seconds(0)) text += fmt::format(", from {} on", seconds_text(job.start));
    if (job.alone)
      text += fmt::format("; alone {} and {}: slow-down {:.3f}", seconds_text(job.alone->makespan),
                          seconds_text(job.alone->step), job.slow_down());
    text += '\n';
  }
  if (were_all_alone(jobs)) text += fmt::format("  Jain index {:.3f}\n", jain_index(shares_of(jobs)));
  return text;
}

}  // namespace tandem

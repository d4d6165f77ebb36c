// What several jobs that shared a platform have cost each other: summary.json and jobs.json of the directory
// that has their results in jobs/NAME.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// In `physics` of run.json: names of the jobs with which this one shares its cache nodes and stores.
inline constexpr const char* shared_cache_key = "shared_cache";
/// The file that says of a directory that it has the results of several jobs.
inline constexpr const char* jobs_file_name = "jobs.json";
/// "DIR/jobs/NAME", "DIR/alone/NAME".
std::string directory_of_job(const std::string& directory, const std::string& name);
std::string directory_of_job_alone(const std::string& directory, const std::string& name);

/// Of one job, in company or alone. Both count from its start.
struct JobTimesOf {
  Seconds makespan{0};
  Seconds step{0};  ///< mean of its workers' steps
};
/// From the summary.json of a result.
JobTimesOf job_times_of(const nlohmann::json& summary);

struct JobInCompany {
  std::string name;
  Seconds start{0};
  JobTimesOf together;
  std::optional<JobTimesOf> alone = {};  ///< none: it was not simulated, or run, alone

  /// Pre: `alone`. How many times as long the job takes as alone.
  double slow_down() const { return together.makespan / alone->makespan; }
  double step_slow_down() const { return together.step / alone->step; }
};

/// Jain's fairness index of shares: (sum x)^2 / (n sum x^2), 1 where all are equal, 1/n where one has all.
/// Pre: not empty, and one of them is not 0. Source: Jain, Chiu and Hawe, "A quantitative measure of
/// fairness", 1984.
double jain_index(std::span<const double> shares);

/// Of each job start_s, makespan_s, step_time_s, and with `alone` the same alone, slow_down and
/// step_slow_down; "makespan_s" of all; where every job was alone, too, "slow_down" (min, max) and
/// "jain_index", of the speeds of the jobs relative to their speeds alone.
nlohmann::json jobs_summary(std::span<const JobInCompany> jobs);
/// The same in lines of text.
std::string jobs_text(std::span<const JobInCompany> jobs);

}  // namespace tandem

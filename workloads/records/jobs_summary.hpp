// How several jobs that shared a platform have slowed each other down: summary.json and jobs.json of the
// directory that has their results in jobs/NAME.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

struct Summary;

/// In `physics` of run.json: names of the jobs with which this one shares its cache nodes and stores.
inline constexpr const char* shared_cache_key = "shared_cache";
/// The file that marks a directory with the results of several jobs.
inline constexpr const char* jobs_file_name = "jobs.json";
/// "DIR/jobs/NAME", "DIR/alone/NAME".
std::string directory_of_job(const std::string& directory, const std::string& name);
std::string directory_of_job_alone(const std::string& directory, const std::string& name);

/// Times of one job, with the others or alone. Both count from its start.
struct JobTimesOf {
  Seconds makespan{0};
  Seconds step{0};  ///< mean of its workers' steps
};
JobTimesOf job_times_of(const Summary& summary);

struct JobInCompany {
  std::string name;
  Seconds start{0};
  JobTimesOf together;
  std::optional<JobTimesOf> alone = {};  ///< none: the job was not simulated, or run, alone

  /// How many times as long the job takes as alone. Pre: `alone`.
  double slow_down() const { return together.makespan / alone->makespan; }
  double step_slow_down() const { return together.step / alone->step; }
};

/// Jain's fairness index of shares: (sum x)^2 / (n sum x^2), 1 where all are equal, 1/n where one has all.
/// Pre: not empty, and one of them is not 0. Source: Jain, Chiu and Hawe, "A quantitative measure of
/// fairness", 1984.
double jain_index(std::span<const double> shares);

/// The summary of one of several jobs.
struct JobSummary {
  struct Alone {
    double makespan_s = 0, step_time_s = 0;
  };
  double start_s = 0;
  double makespan_s = 0, step_time_s = 0;  ///< from its start
  /// None: the job was not also run alone, or no step is known.
  std::optional<Alone> alone{};
  std::optional<double> slow_down{}, step_slow_down{};
};

/// The summary of a cache that several jobs share.
struct SharedCacheSummary {
  struct Job {
    std::int64_t requests = 0;
    std::optional<double> hit_ratio{}, benefit{};
  };
  std::map<std::string, Job> jobs{};
  std::int64_t requests = 0;
  double hit_ratio = 0, byte_hit_ratio = 0;
  std::optional<double> bound{}, attained{};  ///< as SharedCache::bound(), and the share of it
};

/// The summary.json of several jobs.
struct JobsSummary {
  struct Limits {
    double min = 0, max = 0;
  };
  std::map<std::string, JobSummary> jobs{};
  double makespan_s = 0;  ///< of all
  /// If every job was also alone: the slow-downs, and the index of the speeds relative to those alone.
  std::optional<Limits> slow_down{};
  std::optional<double> jain_index{};
  /// If jobs share cache nodes; none within: nothing was read.
  std::optional<std::optional<SharedCacheSummary>> shared_cache{};
};
JobsSummary jobs_summary(std::span<const JobInCompany> jobs);
nlohmann::json to_json(const JobsSummary& summary);
/// The summary of a directory of several jobs. Errors: ConfigError with the file and the key.
JobsSummary read_jobs_summary(const std::string& directory);
/// The same in lines of text.
std::string jobs_text(std::span<const JobInCompany> jobs);

}  // namespace tandem

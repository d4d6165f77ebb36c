// The report of a study, which compares configurations that were only simulated: report.json as data, and
// pages made from it alone. Pure except for writing files. Times are in seconds, shares of 1; none: not
// known, or there is none. study_fields.hpp has the keys.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "validation/campaign/study_section.hpp"
#include "validation/compare/attribution.hpp"
#include "validation/compare/headline.hpp"
#include "validation/report/answer.hpp"
#include "validation/report/page.hpp"
#include "validation/report/report.hpp"

namespace tandem::validation {

inline constexpr int study_schema_version = 6;

/// The configuration to which a result belongs.
struct StudyConfiguration {
  std::string name{};
  std::string group{};
  std::string algorithm{};                                         ///< the variant
  std::vector<std::pair<std::string, std::string>> coordinates{};  ///< keys of the grid and their values
};

/// 90 % of the simulations of an ensemble; none: one simulation.
struct StudyIntervals {
  std::optional<Interval> throughput{}, step_time_s{}, makespan_s{};
};

struct BytesPerSample {
  double sent = 0, received = 0;
};

/// The least cache capacity with which workers wait no longer than `stall`, a share of their steps.
struct StudyCapacity {
  double stall = 0;
  std::optional<std::int64_t> capacity_bytes{};  ///< none: no capacity suffices
  std::int64_t data_set_bytes = 0, step_bytes = 0;
  /// Capacities with their stalls; none: the job is not possible with it.
  std::vector<std::pair<std::int64_t, std::optional<double>>> tried{};
};

/// One configuration in the report.
struct StudyResult : StudyConfiguration {
  std::string failure{};  ///< empty: none; otherwise nothing below is known
  std::size_t workers = 0;
  double throughput = 0;  ///< samples per second
  std::optional<double> applied_throughput{};
  double step_time_s = 0;  ///< mean after the warm-up
  StudyIntervals intervals{};
  std::optional<double> phase_order{};
  std::vector<std::string> question{}, warnings{};  ///< as in run.json
  double makespan_s = 0;
  MixedNumber rounds{};
  std::int64_t samples = 0;
  ByteSums bytes{};
  BytesPerSample bytes_per_sample{};
  std::optional<TimeShares> shares{};
  std::optional<ExchangeShares> exchange_shares{};
  std::optional<Binding> binding{};         ///< none: no step counts
  std::optional<double> cache_hit_ratio{};  ///< none: workers hold their samples
  std::optional<double> storage_busy{};     ///< as in CacheSummary
  std::optional<DataParts> data{};
  std::optional<DistributionSummary> staleness{}, local_steps{};
  std::optional<MembershipSummary> membership{};
  std::optional<CostSummary> cost{};  ///< none: no machine has a price
  std::optional<TargetOutcome> time_to_target{};
  std::optional<double> time_to_target_s{};  ///< when the model that reached the target was taken
  std::optional<double> best_accuracy{};
  std::optional<double> best_top5_accuracy{};  ///< none: not evaluated, or at most five classes
  Curve curve{};
  Experiment experiment{};
  std::string command{};
  RunInfo
      environment{};  ///< without the experiment, and without what differs from one simulation to the next
  /// Known with study.stall. Without a value within: jobs without cache nodes, and others for which warnings
  /// give the reason.
  std::optional<std::optional<StudyCapacity>> least_capacity{};

  // For one of several jobs.
  std::string job{};  ///< empty: the only one
  double start_s = 0;
  std::optional<double> alone_makespan_s{}, slow_down{};  ///< none: it was not simulated alone
  std::string jobs_hash{};                                ///< digest of the keys of all jobs but their seeds

  // Relative to the baseline, once all configurations are known.
  std::optional<std::optional<std::string>> baseline{};  ///< name of a configuration of its group
  std::optional<double> speed_up{};                      ///< throughput over the baseline's
  std::optional<double> target_speed_up{};               ///< the baseline's time_to_target_s over its own
  /// The same by the reading that the study's file describes (CurveReading).
  std::optional<double> read_time_to_target_s{}, read_target_speed_up{};

  bool failed() const { return !failure.empty(); }
  Exchanges exchanges() const { return exchanges_of(local_steps, rounds, staleness); }
};

/// Mean, and standard deviation of a value or standard error of a difference.
struct SeedMean {
  double mean = 0, deviation = 0;
};
/// Configurations that differ in their seed alone.
struct SeedMeans {
  std::string name{};
  std::optional<std::string> baseline{};      ///< name of one of these
  std::vector<std::string> configurations{};  ///< names
  double samples = 0;
  std::optional<SeedMean> makespan_s{}, throughput{}, last_accuracy{}, best_accuracy{};
  std::optional<SeedMean> accuracy_gain{};  ///< its last accuracy minus that of the baseline
};

/// The jobs of an experiment of several, each of which is a configuration.
struct StudyJobs {
  struct Job {
    std::string job{};
    double start_s = 0;
    std::string configuration{};  ///< its name; empty: not shown
  };
  std::string name{};
  std::vector<Job> jobs{};
  double makespan_s = 0;
  std::optional<double> jain_index{};
  std::optional<JobsSummary::Limits> slow_down{};
  std::optional<SharedCacheSummary> shared_cache{};
  std::optional<std::optional<StudyCapacity>> least_capacity{};  ///< with the longest stall of all jobs
};

/// A published figure, with ours.
struct StudyPublished {
  std::string configuration{}, figure{}, what{};
  double value = 0;
  std::string source{};
  std::optional<double> ours{}, ratio{};  ///< ours over theirs
};

struct Study {
  std::string kind = "study";  ///< the report of a validation has no such key
  int schema_version = study_schema_version;
  std::string title{};
  std::string question{};               ///< the job: model, images, devices, network; empty: not known
  std::vector<std::string> warnings{};  ///< what a reader must know before the figures
  std::string about{};                  ///< the question of the study's file
  std::vector<std::string> notes{};
  std::string baseline{};  ///< study.baseline; empty: synchronous SGD (bsp)
  std::string decides{};   ///< study.decides
  double knee_share = 0;   ///< see knee_of()
  std::vector<StudyResult> configurations{};
  std::vector<SeedMeans> seeds{};
  std::vector<StudyPublished> published{};
  std::vector<std::string> commands{};  ///< commands that reproduce it
  std::vector<StudyJobs> several_jobs{};
  std::optional<std::vector<DrawnPlatform>> platforms{};  ///< none: not known

  std::vector<const StudyResult*> worked() const;
};
/// With the answer, which is computed from the rest.
nlohmann::json to_json(const Study& study);
/// Inverse of to_json. `file`: for messages. Errors: ConfigError with the file and the key.
Study study_from_json(const nlohmann::json& document, const std::string& file);

StudyResult study_result(const StudyConfiguration& configuration, const Summary& summary, const RunInfo& run,
                         const std::optional<Binding>& binding);
StudyResult failed_study_result(const StudyConfiguration& configuration, const std::string& failure);

/// Adds baselines, speed-ups and published figures. `commands`: how to repeat everything. Pre: names in
/// `section` are those of configurations.
Study make_study(std::vector<StudyResult> configurations, const std::string& title,
                 const StudySection& section, const std::vector<std::string>& commands);

/// The knee of a line: the smallest number of workers over which no larger one pays, that is, gains at least
/// `share` of a gain in proportion to the workers. None when only the largest number is such. Pre: (workers,
/// throughput), workers rising, both above 0.
std::optional<int> knee_of(const std::vector<std::pair<int, double>>& points, double share);

/// The first time at which the curve, read in that way, reaches `target`; none if it never does.
std::optional<double> read_time_to(double target, const Curve& curve, const CurveReading& reading);

/// The platforms of the configurations that worked, with their use.
std::vector<PlatformUse> platforms_of(const Study& study);

/// One row per configuration that worked, without columns that have no value. Where the grid varies, the
/// first columns are the values of its keys.
Table configurations_table(const Study& study);

/// For a terminal.
std::string study_table(const Study& study);
std::string study_markdown(const Study& study);
/// One self-contained page.
std::string study_html(const Study& study);
/// Writes report.json, report.md, report.html and study.csv. Errors: WorldError when a file cannot be
/// written.
void write_study(const std::string& directory, const Study& study);

}  // namespace tandem::validation

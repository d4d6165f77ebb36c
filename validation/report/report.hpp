// The report of a validation: report.json as data, and pages made from it alone. Neither this code nor the
// pages open network connections. Times are in seconds, errors are ratios; NaN and none: not known.
// report_fields.hpp has the keys.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "validation/compare/bills.hpp"
#include "validation/compare/summary.hpp"
#include "validation/report/platform_parts.hpp"

namespace tandem::validation {

inline constexpr int report_schema_version = 8;

/// A figure in both worlds.
template <class T>
struct Worlds {
  T simulated{};
  T measured{};
};

struct ReportFigure : Figure {
  std::string host{};
};

struct ReportGates {
  Gate operations{}, decisions{}, replay{};
};

/// Figures of one run (summary.json) for which there are no errors.
struct RunMetrics {
  std::int64_t samples = 0;
  std::optional<std::int64_t> applied_samples{}, pending_samples{};
  std::int64_t dropped_samples = 0;
  std::optional<double> applied_throughput{};
  std::optional<TimeShares> shares{};
  std::optional<ExchangeShares> exchange_shares{};
  std::optional<DistributionSummary> staleness{}, local_steps{};
  std::optional<double> phase_order{};
  std::vector<ServerSummary> servers{};
  std::optional<ShardSizes> sharding{};
  std::optional<TargetOutcome> time_to_target{};
  std::optional<MembershipSummary> membership{};
};
struct ReportMetrics {
  RunMetrics simulated{};
  std::vector<RunMetrics> measured{};
};

/// The members of a job whose machines may depart. Measured: means over repetitions.
struct ReportMembers {
  MembersFigure departures{}, arrivals{}, lost_samples{};
  std::optional<double> largest_shift_s{};       ///< of the time of a departure
  BothWorlds noticed_after_s{}, gone_after_s{};  ///< means, since departures
  int batch = 0;                                 ///< batch size of a worker
  std::optional<double> lost_per_departure{};    ///< difference of the samples
  std::optional<double> lost_steps_per_departure{};
  std::vector<std::string> differences{};  ///< of machines and departures
  int after_the_end = 0;                   ///< differences because training had ended in one result only
};

/// How samples reached workers.
struct DataParts {
  std::optional<DataPart> cold{}, warm{};
};

/// Quantiles of the durations of steps.
struct StepTimeQuantiles {
  std::vector<double> shares{}, simulated{}, measured{};
  double kolmogorov = 0;
  double wasserstein = 0;  ///< over the measured mean
};

struct AttributedPart : Contribution {
  std::string host{}, peer_host{};
};
/// The shares add up to the total.
struct ReportAttribution {
  struct Others {
    std::size_t parts = 0;
    double share = 0;
  };
  double total = 0;  ///< error of step time
  std::vector<AttributedPart> parts{};
  Others others{};
};

// ---- Details of a configuration ----

struct CurvePoint {
  double checkpoint_time_s = 0;
  std::int64_t samples = 0;
  double accuracy = 0;
};
using Curve = std::vector<CurvePoint>;
/// Of the evaluations that have an accuracy.
Curve curve_of(const std::vector<EvaluationRecord>& evaluations);

struct AccuracyCurves {
  Curve simulated{};
  std::vector<Curve> measured{};
};

struct RankMetrics {
  TimeShares shares{};
  std::optional<ExchangeShares> exchange_shares{};
  std::int64_t bytes_sent = 0, bytes_received = 0;
};
/// None: the rank took no step.
struct ShownRank : Worlds<std::optional<RankMetrics>> {
  std::string label{};
};
struct ShownRanks {
  std::size_t left_out = 0;
  std::vector<ShownRank> ranks{};
};

/// At the first worker's steps, the phase of each worker. No workers: none.
struct ShownPhases {
  struct Series {
    std::vector<double> times{};
    std::vector<std::vector<double>> phases{};
  };
  std::vector<std::string> workers{};
  Series simulated{}, measured{};
};

struct DataEpoch {
  std::int64_t epoch = 0;
  std::optional<double> time_s{};
  std::map<std::string, ClassSums> classes{};
};

/// The time of a machine in a slot.
struct MemberStay {
  std::int64_t machine = 0;
  bool arrived = false;  ///< while the job ran
  double joined_s = 0;
  std::optional<double> departed_s{};  ///< none: it stayed to the end
  std::optional<double> gone_s{};
  std::string cause{};
};
struct MemberSlot {
  int slot = 0;
  std::string label{};
  std::vector<MemberStay> stays{};
};
struct LaunchSpan {
  std::int64_t number = 0;
  double from_s = 0, to_s = 0;
};
/// The members of one run, for a timeline and a chart of live workers.
struct MembersOfRun {
  double end_s = 0;                            ///< of the job
  std::vector<std::pair<double, int>> live{};  ///< time of a change, and workers from then on
  std::size_t slots_left_out = 0;
  std::vector<MemberSlot> slots{};
  std::vector<std::pair<double, double>> pauses{};
  std::vector<LaunchSpan> launches{};
};
struct ShownOccupant {
  int slot = 0;
  std::int64_t machine = 0;  ///< its number in the slot
  std::string host{}, region{}, zone{}, cause{};
  BothWorlds joined_s{}, departed_s{}, noticed_after_s{}, gone_after_s{};
};
struct ShownMembers : Worlds<MembersOfRun> {
  std::vector<ShownOccupant> occupants{};
  std::size_t occupants_left_out = 0;
};

/// A phase of a step within the window of a timeline.
struct Slice {
  double start_s = 0, duration_s = 0;
  std::size_t phase = 0;
  int step = 0;
};
struct MemberMark {
  double time_s = 0;
  std::string kind{};  ///< "joined" or "departed"
  std::string text{};
};
/// The members in one slot within the window of a timeline; times from its begin.
struct WindowMembers {
  std::vector<std::pair<double, double>> absent{};  ///< begin and duration
  std::vector<MemberMark> marks{};
};
struct TimelineRank : Worlds<std::vector<Slice>> {
  std::string label{};
  Worlds<std::optional<WindowMembers>> members{};
};
struct Timeline {
  double length_s = 0;
  std::size_t ranks_left_out = 0;
  std::vector<TimelineRank> ranks{};
};

struct ConfigurationDetail {
  AccuracyCurves accuracy{};
  ShownRanks ranks{};
  Worlds<std::vector<double>> step_times{};  ///< 101 quantiles
  ShownPhases phase_series{};
  std::optional<Worlds<std::vector<DataEpoch>>> data{};
  std::optional<ShownMembers> members{};
  Timeline timeline{};
};

/// One configuration in the report.
struct ReportConfiguration {
  std::string name{}, group{}, algorithm{};
  std::string set{};      ///< "all", "hold-out", "calibration"
  std::string failure{};  ///< empty: none; otherwise nothing below is known
  std::size_t repetitions = 0;
  int draws = 0;  ///< number of simulations; that with the median throughput is compared
  int warmup_steps = 0;
  int unmatched_steps = 0;
  std::int64_t missed_deadlines = 0;  ///< of all repetitions
  double cpu_wait_share = 0;          ///< longest wait of a rank for a CPU core, of the makespan
  double other_load = 0;              ///< largest share of the cores that other programs used during a run
  double throttled = 0;               ///< largest share of the samples at which a GPU was throttled
  std::string other_origin{};         ///< why differences are not errors of a prediction; empty: they are
  ReportGates gates{};
  std::vector<ReportFigure> figures{};
  ReportMetrics metrics{};
  std::optional<ReportMembers> members{};
  std::optional<Worlds<DataParts>> data{};
  StepTimeQuantiles step_times{};
  ReportAttribution attribution{};
  Worlds<RunInfo> environment{};  ///< without the experiment
  Experiment experiment{};
  std::vector<std::string> commands{};
  /// Known for the configurations with the largest errors, and some evenly chosen.
  std::optional<ConfigurationDetail> detail{};

  bool failed() const { return !failure.empty(); }
  /// The figure of all ranks with this key; null when there is none.
  const ReportFigure* find(const std::string& key) const;
};

// ---- The whole ----

struct WorstError {
  std::string configuration{};
  double error = 0;
};

/// The step time of the ranks on a host.
struct HostErrors {
  std::string platform{}, host{};
  std::size_t configurations = 0;
  double bias = 0, mape = 0;
};

struct ReportProfile {
  std::string path{};
  std::vector<std::string> configurations{};  ///< that use it
  std::optional<std::string> settings_of{};   ///< configuration with whose settings the calibration ran
  std::optional<std::string> date{}, machine{}, software{};
  std::optional<double> other_load{};  ///< of other programs
  std::optional<std::string> command{};
  std::string failure{};
};

/// The jobs of an experiment of several, each of which is a configuration.
struct ReportJobs {
  struct Job {
    std::string job{};
    std::string configuration{};  ///< configuration that has its figures
    double start_s = 0;
  };
  std::string name{};
  std::vector<Job> jobs{};
  std::vector<Figure> figures{};  ///< of all of these jobs
};

struct Report {
  int schema_version = report_schema_version;
  std::string title{};
  std::string question{};               ///< what was asked; empty: not known
  std::string headline{};               ///< which configuration is best, in words
  std::vector<std::string> warnings{};  ///< what a reader must know before the figures
  std::string state{};                  ///< "PASSED", "PASSED WITH WARNINGS", "INCONCLUSIVE" or "FAILED"
  bool passed = false;                  ///< the state is one of the first two
  std::string verdict{};
  std::vector<std::string> reasons{}, advice{};
  double tolerance = 0;
  double margin = 0;          ///< of equivalence
  double mape = 0, bias = 0;  ///< of step time, in the first set
  WorstError worst{};
  std::vector<SetSummary> sets{};  ///< the headline's first
  std::vector<ReportConfiguration> configurations{};
  std::vector<ReportJobs> several_jobs{};
  std::optional<Bills> bills{};  ///< of planned jobs, against their forecast; none: no plan, or no prices
  std::vector<HostErrors> hosts{};
  std::vector<ReportProfile> profiles{};
  std::optional<std::vector<DrawnPlatform>> platforms{};  ///< none: not known
  std::vector<std::string> phases{};                      ///< of a step
  std::vector<std::string> commands{};                    ///< commands that repeat everything

  /// The configurations that were compared.
  std::vector<const ReportConfiguration*> compared() const;
  /// The compared configurations with details; the largest error of step time first.
  std::vector<const ReportConfiguration*> detailed() const;
};
nlohmann::json to_json(const Report& report);
/// Inverse of to_json. `file`: for messages. Errors: ConfigError with the file and the key.
Report report_from_json(const nlohmann::json& document, const std::string& file);

struct ReportSource {
  std::string title;                  ///< the experiment's or suite's name
  std::vector<std::string> commands;  ///< empty: those that the results name
  std::vector<ReportProfile> profiles{};
  std::vector<ReportJobs> several_jobs{};
  std::optional<Bills> bills{};
};

/// Limit of the configurations that are shown in detail because of their errors; as many others are evenly
/// chosen.
inline constexpr std::size_t most_worst_details = 12;
inline constexpr std::size_t most_even_details = 12;

ReportConfiguration report_configuration(const VariantResults& results, const Comparison& comparison);
ReportConfiguration failed_configuration(const Compared& configuration);
/// Pre: `configurations` are those of `validation`, in its order.
Report make_report(std::vector<ReportConfiguration> configurations, const Validation& validation,
                   const ReportSource& source);
Report make_report(const std::vector<VariantResults>& variants, const Validation& validation,
                   const ReportSource& source);

/// The platforms of the configurations that were compared, with their use.
std::vector<PlatformUse> platforms_of(const Report& report);

}  // namespace tandem::validation

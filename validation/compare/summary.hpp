// Summarises the comparisons of many configurations: how large the simulator's errors are, where they are
// largest, and whether it picks the fastest configuration. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/compare/compare.hpp"
#include "validation/compare/headline.hpp"
#include "validation/compare/verdict.hpp"

namespace tandem::validation {

/// The results of one configuration, simulated and measured.
struct VariantResults {
  std::string name;
  Results simulated;
  std::vector<Results> measured;     ///< repetitions
  std::string group{};               ///< configurations of one group differ in the algorithm only
  std::string algorithm{};           ///< within the group; empty: as `name`
  bool calibration = false;          ///< of the calibration set; else of the hold-out set
  std::optional<Results> witness{};  ///< the MPI program itself on SimGrid's MPI (SMPI)
  int draws = 1;  ///< number of simulations; `simulated` is the one with the median throughput
};

/// One configuration after its comparison, without its records.
struct Compared {
  std::string name;
  std::string group{};
  std::string algorithm{};
  bool calibration = false;
  std::string synchronisation{};           ///< the experiment's sync.algorithm
  bool over_server = false;                ///< else by all-reduce
  std::string task{};                      ///< platform, model and data set; speed-ups are among those of one
  std::size_t repetitions = 0;             ///< measured
  double other_load = 0;                   ///< largest share of the cores that other programs used
  double calibration_load = 0;             ///< the same while the profile of the simulation was measured
  double cpu_wait_share = 0;               ///< longest wait of a rank for a CPU core, of the makespan
  Exchanges exchanges{};                   ///< as simulated
  bool revokes_nothing = false;            ///< the job starts again in the simulation only (run.revoke none)
  bool has_accuracy = false;               ///< the simulation evaluated an accuracy
  double learning_rate = 0;                ///< of the simulation
  std::vector<std::string> question{};     ///< RunInfo::question of the simulation
  std::vector<std::string> warnings{};     ///< RunInfo::warnings of the simulation
  std::string failure{};                   ///< why there is no comparison; empty when there is one
  std::optional<Comparison> comparison{};  ///< none when it failed

  /// Its name within the group.
  const std::string& label() const { return algorithm.empty() ? name : algorithm; }
};
/// Errors: as compare().
Compared compared(const VariantResults& results, const CompareOptions& options = {});

/// A configuration's place in its group, by throughput; 1 is the fastest.
struct RankedVariant {
  std::string name;
  double simulated_throughput;
  double measured_throughput;
  int simulated_place;
  int measured_place;
  std::string baseline{};          ///< the group's bsp, of the same task; empty: none, so no speed-up
  BothWorlds speed_up{};           ///< throughput over the baseline's
  std::optional<double> target{};  ///< accuracy that the experiment names
  BothWorlds time_to_target{};     ///< seconds; see TargetTimes
  BothWorlds target_speed_up{};    ///< the baseline's time to the same target over its own
  Exchanges exchanges{};           ///< as simulated
};

struct Ranking {
  std::string group{};
  std::vector<RankedVariant> variants{};  ///< fastest measured first
  std::optional<double> spearman{};       ///< rank correlation of the two orders; none with one variant
  std::optional<double> kendall{};
  /// Variants whose measured throughputs differ by less than this tie, because repeated runs swap them, too.
  /// At least `smallest_tie`; more if repeated runs differed more.
  static constexpr double smallest_tie = 0.03;
  double tie = smallest_tie;
  bool same_order = true;  ///< up to ties
  bool same_best = true;
  /// The largest measured difference (faster / slower - 1) of two variants that simulation and measurement
  /// order differently.
  double largest_swapped_gap = 0;
  std::string swapped{};  ///< the two of that difference, "'a' and 'b'"
  /// Loss from choosing by simulation: measured best throughput / measured throughput of the simulated best
  /// - 1.
  double regret = 0;
};

/// The errors of one quantity over configurations.
struct ErrorSummary {
  std::string key;
  std::string name;
  Unit unit = Unit::seconds;
  int count = 0;      ///< configurations that have it, and with a finite error
  int undefined = 0;  ///< that have it, with a measured value of 0 and a simulated value above 0
  double bias = 0;    ///< mean error
  double mape = 0;    ///< mean |error|
  double median = 0;  ///< of |error|, as the following
  double p95 = 0;
  double largest = 0;  ///< with its sign
  std::string largest_name{};
  std::optional<double> pearson{};  ///< correlation of simulated and measured values; none below three
  std::optional<Interval> mape_interval{};  ///< 90 %, over configurations
  std::optional<double> noise_floor{};      ///< mean over configurations
  std::optional<double> half_width{};  ///< half of the 95 % interval of an error, mean over configurations
  std::optional<double> error_over_noise{};
  /// Contribution of a phase: mean and mean absolute contribution to the error of step time.
  std::optional<double> contribution{};
  std::optional<double> absolute_contribution{};
  /// Mean absolute parts of the error over the `witnessed` configurations: simulator - witness (two programs
  /// on one network model: the error of the simulator's code) and witness - measured (the error of the
  /// model).
  int witnessed = 0;
  std::optional<double> code_path{}, model{};
  int equivalent = 0, different = 0, inconclusive = 0;  ///< configurations, by TOST
};

/// How often measured runs lie in the intervals that ensembles of simulations predict for their step time.
struct Coverage {
  int configurations = 0;  ///< with an ensemble
  int runs = 0;            ///< measured
  int inside = 0;

  double share() const { return static_cast<double>(inside) / runs; }
};

/// A set of configurations.
struct SetSummary {
  std::string name;  ///< "all", "hold-out", "calibration"
  int configurations = 0;
  int failed = 0;
  std::vector<ErrorSummary> errors{};  ///< step_time first
  /// Errors of the step time of the configurations with an ensemble, which are those whose decisions depend
  /// on timing; none: there is none.
  std::optional<ErrorSummary> timing_driven{};
  Coverage coverage{};
  std::vector<Ranking> groups{};     ///< of two configurations or more
  std::optional<double> spearman{};  ///< over all configurations of the set
  std::optional<double> kendall{};
  int same_best = 0;       ///< groups in which the simulated best is the measured best
  double mean_regret = 0;  ///< over groups
  double largest_regret = 0;
  int speed_ups = 0;                      ///< variants with a speed-up over another one
  std::optional<double> speed_up_mape{};  ///< mean |error| of these speed-ups
  std::optional<double> mean_spearman{};  ///< over groups
  std::optional<double> mean_kendall{};
  double mean_kolmogorov = 0;  ///< of step times, over configurations
  double mean_wasserstein = 0;

  const ErrorSummary* find(const std::string& key) const;
};

struct Validation {
  double tolerance = 0.10;
  std::vector<Compared> configurations;  ///< as given
  std::vector<SetSummary> sets;          ///< that of the headline first; always includes "all"
  std::string worst_variant;
  double mape = 0;  ///< of step time in the headline's set
  double bias = 0;
  double worst = 0;  ///< error of step time farthest from 0
  bool gates_hold = true;
  Judgement judgement;   ///< over step time, throughput, makespan and ranking of the headline's set
  std::string verdict;   ///< one sentence
  std::string best;      ///< headline_of() the headline's set
  std::string question;  ///< question_line() of all configurations
  std::vector<std::string> warnings;  ///< of the headline, and of the jobs

  bool passed() const { return is_pass(judgement.verdict); }

  const SetSummary& headline() const { return sets.front(); }
  /// Errors: programmer's error when there is none.
  const SetSummary& set(const std::string& name) const;
};

/// Draws the conclusions. The headline is that of the hold-out set when some configurations are of the
/// calibration set. `tolerance`: of the mean absolute errors of step time, throughput and makespan.
/// Errors: ConfigError without configurations.
Validation conclude(std::vector<Compared> configurations, double tolerance = 0.10,
                    const Resampling& resampling = {});

/// Compares each and concludes. Errors: ConfigError as compare(), and without variants.
Validation validate(const std::vector<VariantResults>& variants, double tolerance = 0.10,
                    const CompareOptions& options = {});

/// The order of variants by throughput, simulated and measured; `noise`: by how much throughputs of repeated
/// runs differ. Pre: as many of each, at least one.
Ranking rank(const std::vector<std::string>& names, const std::vector<double>& simulated,
             const std::vector<double>& measured, double noise = 0);
/// Fills in the exchanges and speed-ups of the variants of a group over its bsp variant. If there are
/// several, the baseline is one over a server, or else the first. Pre: `ranking` is that of `members`.
void add_speed_ups(const std::vector<const Compared*>& members, Ranking& ranking);
/// Errors, rankings and distributions of a set of configurations.
SetSummary summarise_set(const std::string& name, const std::vector<const Compared*>& configurations,
                         const Resampling& resampling);

}  // namespace tandem::validation

// Compares a simulation with measured repetitions of the same experiment: parity, replay, then errors.
// Reads records only; prints nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/compare/attribution.hpp"
#include "validation/compare/gates.hpp"
#include "validation/compare/members.hpp"
#include "validation/compare/origin.hpp"
#include "validation/compare/statistics.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// The interval of a figure by an ensemble of simulations, and how many measured runs are in it.
struct EnsembleInterval {
  double low = 0;
  double high = 0;
  int inside = 0;  ///< measured runs from low to high
  int runs = 0;    ///< measured
};

/// One quantity, simulated and measured.
struct Figure {
  std::string key;   ///< "step_time", "phase.forward", "makespan", "throughput", "staleness", ...
  std::string name;  ///< for people: "step time", "forward"
  Unit unit = Unit::seconds;
  Rank rank = -1;  ///< of one worker; -1: of all
  double simulated = 0;
  double measured = 0;              ///< mean over repetitions
  double error = 0;                 ///< relative_error of the two
  std::optional<double> witness{};  ///< value under SMPI
  /// Contribution of a phase: (simulated - measured) / measured step time; these add up to the error of step
  /// time.
  std::optional<double> contribution{};
  std::optional<Interval> interval{};    ///< 95 % interval of the error
  std::optional<double> noise_floor{};   ///< how much measured repetitions differ
  std::optional<Equivalence> verdict{};  ///< within CompareOptions::margin
  /// 90 % interval of the simulations; then `simulated` is of the one with the median step time.
  std::optional<EnsembleInterval> ensemble{};
};

/// Durations of all counted steps, simulated and measured, of all ranks and repetitions.
struct StepTimes {
  static constexpr double shares[] = {0.50, 0.90, 0.95, 0.99};
  std::vector<double> simulated{};  ///< sorted
  std::vector<double> measured{};   ///< sorted
  double kolmogorov = 0;
  double wasserstein = 0;  ///< over the measured mean
};

/// Times to the experiment's target accuracy, without the time of evaluating.
struct TargetTimes {
  double target = 0;
  std::optional<double> simulated{};  ///< seconds; none: not reached
  std::optional<double> measured{};   ///< mean over repetitions; none: one of them did not reach it
};

struct CompareOptions {
  double margin = 0.10;  ///< of equivalence
  Resampling resampling;
};

struct Comparison {
  Gate operations;
  Gate decisions;
  Gate replay;
  std::vector<Figure>
      figures;  ///< step_time and phases of all workers, step_time of each, then figures of the whole run
  std::optional<TargetTimes> target;  ///< none when the experiment names none
  int unmatched_steps =
      0;  ///< (rank, step) only simulated or only measured; the largest number over repetitions
  StepTimes step_times;
  std::optional<Members> members;         ///< none where no machine may depart
  std::vector<Contribution> attribution;  ///< to the error of step time, largest first; they add up to it
  Origin origin;  ///< whether the differences are errors of a prediction, in all repetitions

  /// No gate failed; gates that could not be checked do not count.
  bool gates_hold() const;
  /// Errors: programmer's error when there is no such figure.
  const Figure& figure(const std::string& key, Rank rank = -1) const;
  const Figure* find(const std::string& key, Rank rank = -1) const;
};

/// `witness`: the same job under SMPI, if there is one; its values are added to the figures.
/// Errors: ConfigError when the results do not belong together (kind of result, first differing key of the
/// experiment, roles), nothing was measured, or a result has no step after the warm-up.
Comparison compare(const Results& simulated, const std::vector<Results>& measured,
                   const CompareOptions& options = {}, const std::optional<Results>& witness = std::nullopt);

}  // namespace tandem::validation

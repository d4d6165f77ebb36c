// The figures of an ensemble: simulations of one job with different random draws. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

/// Share of further outcomes that an interval of an ensemble should hold.
inline constexpr double ensemble_level = 0.9;

/// The common error of all replicas is about this share of a time or rate: their intervals are wider by it
/// on both sides. Measured: half of the runs of lab.yaml, see validation/reports/asynchronous.md.
inline constexpr double ensemble_model_error = 0.03;

struct Spread {
  double median;
  double low;
  double high;
};

/// The median, and the interval that holds one further value with probability `level`: quantile p of n values
/// is order statistic p (n + 1), interpolated (definition 6 of Hyndman and Fan 1996), at most the extremes.
/// With 16 values and 0.9 it is from the smallest to the largest, which holds 15 of 17 further ones. Pre: not
/// empty.
Spread spread_of_outcomes(std::vector<double> values, double level = ensemble_level);

struct Summary;

/// The figures of one replica, from its summary.json.
struct ReplicaFigures {
  double step_time = 0;  ///< mean, seconds
  double throughput = 0;
  double makespan = 0;     ///< seconds
  double phase_order = 0;  ///< NaN: one worker
};
ReplicaFigures replica_figures(const Summary& summary);

nlohmann::json to_json(const ReplicaFigures& figures);
/// Inverse of to_json. `file`: for messages. Errors: ConfigError with the file and the key.
ReplicaFigures replica_figures_from_json(const nlohmann::json& document, const std::string& file);

/// Index of the replica with the median step time (the lower one of two).
std::size_t median_replica(const std::vector<ReplicaFigures>& replicas);

/// A figure of all replicas. Intervals of times and rates are wider by the model error.
struct EnsembleFigure {
  double median = 0, low = 0, high = 0;
  std::vector<double> values{};  ///< of each replica
};
/// The key "ensemble" of run.json and summary.json.
struct EnsembleSummary {
  /// None where a figure is unknown.
  struct Figures {
    std::optional<EnsembleFigure> step_time{}, throughput{}, makespan{}, phase_order{};
  };
  std::size_t replicas = 0;  ///< with the repetitions 1, 2, ...
  double level = 0;
  double model_error = 0;
  std::size_t recorded = 0;  ///< repetition whose records are kept
  Figures figures{};
};
EnsembleSummary ensemble_of(const std::vector<ReplicaFigures>& replicas);

}  // namespace tandem

// The figures of an ensemble: simulations of one job that differ in what is drawn at random. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace tandem {

/// Share of further outcomes that an interval of an ensemble should hold.
inline constexpr double ensemble_level = 0.9;

/// What all replicas have in common is wrong by about this share of a time or rate: their intervals are wider
/// by it on both sides. Measured: half of the runs of lab.yaml, see validation/reports/asynchronous.md.
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

/// What one replica tells: of its summary.json.
struct ReplicaFigures {
  double step_time = 0;  ///< mean, seconds
  double throughput = 0;
  double makespan = 0;     ///< seconds
  double phase_order = 0;  ///< NaN: one worker
};
ReplicaFigures replica_figures(const nlohmann::json& summary);

nlohmann::json to_json(const ReplicaFigures& figures);
/// Inverse of to_json. Errors: nlohmann::json::exception.
ReplicaFigures replica_figures_from_json(const nlohmann::json& document);

/// Index of the replica with the median step time (the lower one of two).
std::size_t median_replica(const std::vector<ReplicaFigures>& replicas);

/// The key "ensemble" of summary.json: {replicas, level, model_error, recorded (repetition whose records are
/// kept), figures: { step_time_s, throughput, makespan_s, phase_order: {median, low, high, values}}}. Intervals
/// of times and rates are wider by the model error. Replicas have the repetitions 1, 2, ...; null where a figure
/// is unknown.
nlohmann::json ensemble_json(const std::vector<ReplicaFigures>& replicas);

}  // namespace tandem

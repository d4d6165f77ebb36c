// How many samples a job takes until a target accuracy, from jobs that were trained. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tandem::planning {

/// Evaluations of one job that was trained.
struct AccuracyCurve {
  struct Point {
    std::int64_t samples = 0;  ///< of all workers
    double accuracy = 0.0;
  };
  std::string source;  ///< for messages
  int workers = 1;
  std::vector<Point> points;  ///< in the order of samples
};

/// The first evaluation with at least the target; none: it has none.
std::optional<AccuracyCurve::Point> reached(const AccuracyCurve& curve, double target);
/// The most accurate evaluation, of equal ones the first. Pre: the curve has points.
AccuracyCurve::Point best_of(const AccuracyCurve& curve);

/// Of one way to exchange, by the number of workers.
class SamplesToTarget {
 public:
  /// Curves with as many workers count by their mean; if one of them does not reach the target, that number
  /// of workers does not. `name`: of the way, for messages. Pre: curves have points.
  SamplesToTarget(const std::vector<AccuracyCurve>& curves, double target, std::string name);

  /// Between two numbers of workers that curves have, their samples are interpolated, both on logarithmic
  /// scales. Errors: ConfigError outside of them, and where one of the two does not reach the target.
  std::int64_t with(int workers) const;

 private:
  struct Known {
    std::optional<double> samples{};  ///< none: the target is not reached
    double best = 1.0;                ///< accuracy, the least of its curves
  };
  const Known& reaching(std::map<int, Known>::const_iterator known) const;

  double target_;
  std::string name_;
  std::map<int, Known> known_;
};

}  // namespace tandem::planning

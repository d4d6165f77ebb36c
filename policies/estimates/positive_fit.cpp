#include "policies/estimates/positive_fit.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "policies/estimates/dot.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"

namespace tandem::estimates {
namespace {

using Vector = std::vector<double>;

constexpr double farthest_start = 30.0;  ///< factor
constexpr std::size_t most_searches = 4;
constexpr int most_iterations = 40;
constexpr double difference = 0.02;  ///< of the logarithm of a number, for slopes
/// Doubling a number that is determined changes the rows by more than about a hundredth.
constexpr double least_elasticity = 0.015;
/// The least share of the square of a number's effect that others cannot imitate.
constexpr double least_own_share = 0.01;
/// A given value that raises the squared errors by less than this share is not contradicted.
constexpr double tolerated = 0.1;
constexpr int profile_iterations = 2;      ///< where the other numbers begin near their best values
constexpr double farthest_end = 7.0;       ///< of an interval, in logarithms: a factor of 1,000
constexpr double negligible_error = 0.01;  ///< of a row: no table is taken to be more accurate

/// The inverse of a symmetric matrix by Gauss and Jordan; none: singular.
std::optional<std::vector<Vector>> inverse(std::vector<Vector> a) {
  const std::size_t size = a.size();
  std::vector<Vector> found(size, Vector(size, 0.0));
  for (std::size_t i = 0; i < size; ++i) found[i][i] = 1.0;
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t pivot = i;
    for (std::size_t row = i + 1; row < size; ++row)
      if (std::abs(a[row][i]) > std::abs(a[pivot][i])) pivot = row;
    if (!(std::abs(a[pivot][i]) > 1e-14)) return std::nullopt;
    std::swap(a[i], a[pivot]);
    std::swap(found[i], found[pivot]);
    const double scale = a[i][i];
    for (std::size_t column = 0; column < size; ++column) {
      a[i][column] /= scale;
      found[i][column] /= scale;
    }
    for (std::size_t row = 0; row < size; ++row) {
      if (row == i) continue;
      const double factor = a[row][i];
      for (std::size_t column = 0; column < size; ++column) {
        a[row][column] -= factor * a[i][column];
        found[row][column] -= factor * found[i][column];
      }
    }
  }
  return found;
}

/// Logarithms of the numbers, and what they give.
struct Point {
  Vector logs;
  Vector residuals;
  double squares = std::numeric_limits<double>::infinity();
};

class Search {
 public:
  Search(const std::vector<FitNumber>& numbers, const Vector& measured_s, const PredictTimes& predict)
      : numbers_(numbers),
        measured_s_(measured_s),
        predict_(predict),
        free_(numbers.size(), true),
        needed_(numbers.size(), false) {}

  PositiveFit run(double confidence) {
    std::vector<Point> ends = searches();
    Point best = ends.front();
    for (std::size_t dropped = next_undetermined(best); dropped < numbers_.size();
         dropped = next_undetermined(best)) {
      free_[dropped] = false;
      const Point found = without(dropped, best);
      const bool is_allowed = found.squares <= best.squares * (1 + tolerated) + negligible();
      if (is_allowed) best = found;
      free_[dropped] = needed_[dropped] = !is_allowed;
    }
    PositiveFit fit = result(best, confidence);
    fit.starts = static_cast<int>(ends.size());
    fit.agreeing = static_cast<int>(std::ranges::count_if(ends, [&](const Point& end) {
      return end.squares <= ends.front().squares * (1 + tolerated) + negligible();
    }));
    return fit;
  }

 private:
  double negligible() const {
    return negligible_error * negligible_error * static_cast<double>(measured_s_.size());
  }

  Point at(const Vector& logs) const {
    Point point{logs, {}, 0.0};
    Vector values;
    for (const double log : logs) values.push_back(std::exp(log));
    const Vector predicted = predict_(values);
    TANDEM_CHECK(predicted.size() == measured_s_.size(), "predictions", predicted.size());
    for (std::size_t row = 0; row < predicted.size(); ++row)
      point.residuals.push_back(std::log(predicted[row] / measured_s_[row]));
    point.squares = dot(point.residuals, point.residuals);
    if (!std::isfinite(point.squares)) point.squares = std::numeric_limits<double>::infinity();
    return point;
  }

  /// All three values of up to three numbers, with others at their start; then one number after the other.
  std::vector<Vector> starts() const {
    Vector middle;
    for (const FitNumber& number : numbers_) middle.push_back(std::log(number.start));
    std::vector<Vector> found = {middle};
    const std::size_t together = std::min<std::size_t>(3, numbers_.size());
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const std::vector<Vector> before = i < together ? found : std::vector<Vector>{middle};
      for (const Vector& each : before)
        for (const double direction : {-1.0, 1.0}) {
          found.push_back(each);
          found.back()[i] += direction * std::log(farthest_start);
        }
    }
    return found;
  }

  /// From the best starts, the best end first.
  std::vector<Point> searches() const {
    std::vector<Point> points;
    for (const Vector& start : starts()) points.push_back(at(start));
    std::ranges::stable_sort(points, {}, &Point::squares);
    points.resize(std::min(points.size(), most_searches));
    for (Point& point : points) point = descend(point);
    std::ranges::stable_sort(points, {}, &Point::squares);
    return points;
  }

  /// Slopes of the residuals at the point, by the logarithm of each free number; empty for other numbers.
  std::vector<Vector> slopes(const Point& point) const {
    std::vector<Vector> found(numbers_.size());
    for (std::size_t number = 0; number < numbers_.size(); ++number) {
      if (!free_[number]) continue;
      Vector more = point.logs, less = point.logs;
      more[number] += difference;
      less[number] -= difference;
      const Point above = at(more), below = at(less);
      for (std::size_t row = 0; row < point.residuals.size(); ++row)
        found[number].push_back((above.residuals[row] - below.residuals[row]) / (2 * difference));
    }
    return found;
  }

  /// Levenberg's and Marquardt's method.
  Point descend(Point point, int most = most_iterations) const {
    constexpr double longest_step = 1.5, least_gain = 1e-7;
    double damping = 1e-3;
    for (int iteration = 0; iteration < most && point.squares > 1e-16; ++iteration) {
      const auto of = slopes(point);
      bool is_better = false;
      double gain = 0.0;
      for (int tries = 0; tries < 8 && !is_better; ++tries, damping *= 10) {
        const Point next = at(stepped(point, of, damping, longest_step));
        is_better = next.squares < point.squares;
        if (!is_better) continue;
        gain = 1.0 - next.squares / point.squares;
        point = next;
        damping /= 100;
      }
      damping = std::max(damping, 1e-9);
      if (!is_better || gain < least_gain) break;
    }
    return point;
  }

  Vector stepped(const Point& point, const std::vector<Vector>& of, double damping, double longest) const {
    std::vector<std::size_t> moved;
    for (std::size_t i = 0; i < of.size(); ++i)
      if (!of[i].empty()) moved.push_back(i);
    std::vector<Vector> matrix(moved.size(), Vector(moved.size()));
    Vector gradient;
    for (std::size_t a = 0; a < moved.size(); ++a) {
      for (std::size_t b = 0; b < moved.size(); ++b) matrix[a][b] = dot(of[moved[a]], of[moved[b]]);
      // A number without effect stays where it is.
      matrix[a][a] += damping * std::max(matrix[a][a], 1e-4);
      gradient.push_back(dot(of[moved[a]], point.residuals));
    }
    Vector next = point.logs;
    const auto inverted = inverse(std::move(matrix));
    if (!inverted) return next;
    for (std::size_t a = 0; a < moved.size(); ++a)
      next[moved[a]] -= std::clamp(dot((*inverted)[a], gradient), -longest, longest);
    return next;
  }

  /// The last number that the rows do not determine in addition to the earlier ones; the number of numbers:
  /// all are determined.
  std::size_t next_undetermined(const Point& point) const {
    const auto of = slopes(point);
    std::vector<Vector> basis;
    std::size_t found = numbers_.size();
    for (std::size_t number = 0; number < numbers_.size(); ++number) {
      if (!free_[number]) continue;
      Vector own = of[number];
      const double whole = dot(own, own);
      for (const Vector& direction : basis) {
        const double along = dot(own, direction);
        for (std::size_t row = 0; row < own.size(); ++row) own[row] -= along * direction[row];
      }
      const double left = dot(own, own);
      const double needed = least_elasticity * least_elasticity;
      if (needed_[number]) continue;
      if (whole < needed || left < least_own_share * whole || basis.size() == measured_s_.size()) {
        found = number;
        continue;
      }
      for (double& value : own) value /= std::sqrt(left);
      basis.push_back(std::move(own));
    }
    return found;
  }

  /// With this number as it is given.
  Point without(std::size_t number, const Point& best) const {
    Vector logs = best.logs;
    // A time of 0 is one that no row can notice.
    constexpr double as_zero = 1e-9;
    const FitNumber& of = numbers_[number];
    logs[number] = std::log(of.given > 0.0 ? of.given : of.start * as_zero);
    return descend(at(logs));
  }

  /// How far the logarithm of a number can be from its best value in one direction, while the others follow
  /// and the squared errors stay below `most`; infinite: farther than farthest_end. `along`: of all
  /// logarithms, to first order.
  double reach(std::size_t number, const Point& best, const Vector& along, double first, double most) {
    constexpr int halvings = 4;
    free_[number] = false;
    const auto holds = [&](double distance) {
      Vector logs = best.logs;
      for (std::size_t i = 0; i < logs.size(); ++i) logs[i] += along[i] * distance;
      return descend(at(logs), profile_iterations).squares <= most;
    };
    double within = 0.0, beyond = std::max(first, difference);
    while (beyond < farthest_end && holds(beyond)) {
      within = beyond;
      beyond *= 2;
    }
    if (beyond >= farthest_end) beyond = std::numeric_limits<double>::infinity();
    for (int i = 0; i < halvings && std::isfinite(beyond); ++i) {
      const double middle = (within + beyond) / 2;
      (holds(middle) ? within : beyond) = middle;
    }
    free_[number] = true;
    return beyond;
  }

  PositiveFit result(const Point& best, double confidence) {
    const auto of = slopes(best);
    std::vector<std::size_t> moved;
    std::vector<Vector> matrix;
    for (std::size_t i = 0; i < of.size(); ++i)
      if (free_[i]) moved.push_back(i);
    for (const std::size_t a : moved) {
      matrix.emplace_back();
      for (const std::size_t b : moved) matrix.back().push_back(dot(of[a], of[b]));
    }
    const auto covariance = inverse(std::move(matrix));
    const auto spare = static_cast<double>(measured_s_.size()) - static_cast<double>(moved.size());
    PositiveFit fit;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const double value = std::exp(best.logs[i]);
      const bool is_given = !free_[i] && numbers_[i].given == 0.0 && value < numbers_[i].start * 1e-6;
      fit.numbers.push_back(
          {numbers_[i].name, is_given ? 0.0 : value, std::nan(""), std::nan(""), free_[i], needed_[i]});
    }
    for (std::size_t a = 0; a < moved.size() && spare > 0.0; ++a) {
      FitEstimate& number = fit.numbers[moved[a]];
      if (!covariance && !number.is_mixed) continue;
      const double t = boost::math::quantile(boost::math::students_t(spare), 0.5 + confidence / 2);
      // By slopes. They say little of other mixtures that suit the rows.
      const double half =
          covariance ? t * std::sqrt(best.squares / spare * std::max(0.0, (*covariance)[a][a])) : 0.0;
      double below = half, above = half;
      if (number.is_mixed) {
        const double most = best.squares + std::max(best.squares, negligible()) * t * t / spare;
        Vector along(numbers_.size(), 0.0);
        along[moved[a]] = 1.0;
        for (std::size_t b = 0; b < moved.size() && covariance; ++b)
          along[moved[b]] = (*covariance)[a][b] / (*covariance)[a][a];
        above = reach(moved[a], best, along, half, most);
        for (double& of : along) of = -of;
        below = reach(moved[a], best, along, half, most);
      }
      number.lower = number.value * std::exp(-below);
      number.upper = number.value * std::exp(above);
    }
    for (std::size_t row = 0; row < measured_s_.size(); ++row)
      fit.predicted_s.push_back(measured_s_[row] * std::exp(best.residuals[row]));
    fit.error = std::sqrt(best.squares / static_cast<double>(measured_s_.size()));
    fit.missed = missed(best.residuals);
    return fit;
  }

  static std::vector<std::size_t> missed(const Vector& residuals) {
    constexpr double least = 0.05;        // of a time
    constexpr double of_normal = 1.4826;  // standard deviation over the median of absolute errors
    constexpr double deviations = 3.0;
    Vector sizes;
    for (const double residual : residuals) sizes.push_back(std::abs(residual));
    const double limit = std::max(least, deviations * of_normal * quantile(sizes, 0.5));
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < residuals.size(); ++row)
      if (std::abs(residuals[row]) > limit) rows.push_back(row);
    return rows;
  }

  const std::vector<FitNumber>& numbers_;
  const Vector& measured_s_;
  const PredictTimes& predict_;
  std::vector<bool> free_;    ///< by number: not fixed
  std::vector<bool> needed_;  ///< by number: rows contradict its given value
};

}  // namespace

PositiveFit fit_positive(const std::vector<FitNumber>& numbers, const std::vector<double>& measured_s,
                         const PredictTimes& predict, double confidence) {
  TANDEM_CHECK(!numbers.empty() && !measured_s.empty(), "numbers", numbers.size(), "rows", measured_s.size());
  for (const FitNumber& number : numbers) TANDEM_CHECK(number.start > 0.0, "start", number.start);
  for (const double time_s : measured_s) TANDEM_CHECK(time_s > 0.0, "time", time_s);
  return Search(numbers, measured_s, predict).run(confidence);
}

}  // namespace tandem::estimates

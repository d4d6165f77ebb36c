#include "workloads/calibration/server_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

constexpr std::size_t numbers = 3;  // seconds per message, per byte, per tensor: in the order of their choice
enum Number : std::size_t { per_message, per_byte, per_tensor };
constexpr std::array<const char*, numbers> names = {"the time per message", "the rates of bytes",
                                                    "the time per tensor"};
using Vector = std::array<double, numbers>;
using Matrix = std::array<Vector, numbers>;
using Chosen = std::array<bool, numbers>;

constexpr int most_iterations = 12;
/// Parts of the largest cost for each number, so that all of them have an effect. Slopes near a start may
/// lead away from the costs, so the others are tried where the first one ends with a larger error.
constexpr std::array<Vector, 4> starts = {
    {{0.25, 0.25, 0.25}, {0.8, 0.1, 0.1}, {0.1, 0.8, 0.1}, {0.1, 0.1, 0.8}}};
constexpr double good_error = 0.05;
/// Of a number's effect, the share of its square that the others cannot imitate.
constexpr double least_own_share = 0.01;
constexpr double usual_elasticity = 0.5;  ///< that a table should reach
/// A table is not taken to be more accurate than this.
constexpr double least_table_error = 0.01;
constexpr double largest_uncertainty = 0.5;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Solves for the chosen unknowns; the others are 0. None: singular.
std::optional<Vector> solve(Matrix a, Vector b, const Chosen& chosen) {
  for (std::size_t i = 0; i < numbers; ++i) {
    if (!chosen[i]) continue;
    if (!(std::abs(a[i][i]) > 1e-12)) return std::nullopt;
    for (std::size_t row = 0; row < numbers; ++row) {
      if (row == i || !chosen[row]) continue;
      const double factor = a[row][i] / a[i][i];
      for (std::size_t column = 0; column < numbers; ++column) a[row][column] -= factor * a[i][column];
      b[row] -= factor * b[i];
    }
  }
  Vector x{};
  for (std::size_t i = 0; i < numbers; ++i)
    if (chosen[i]) x[i] = b[i] / a[i][i];
  return x;
}

class Fit {
 public:
  Fit(const std::vector<ServerFitRow>& rows, const PredictSpeeds& predict) : rows_(rows), predict_(predict) {
    set_scales();
  }

  ServerFit run(const Vector& start) {
    x_ = start;
    chosen_.fill(true);
    residuals_ = residuals_at({x_}).front();
    update_slopes();
    choose();
    if (std::ranges::count(chosen_, true) < std::ssize(chosen_)) {
      residuals_ = residuals_at({x_}).front();
      update_slopes();
    }
    double damping = 1e-4;
    for (int i = 0; i < most_iterations && improve(damping); ++i) update_slopes();
    return result();
  }

 private:
  /// With these scales, a cost of 1 is the largest that the fastest row allows.
  void set_scales() {
    double largest_s = std::numeric_limits<double>::infinity();
    double tensors = 1.0, bytes = 1.0;
    for (const auto& row : rows_) {
      TANDEM_CHECK(row.steps_per_second > 0.0, "steps per second", row.steps_per_second);
      // A push and a reply.
      largest_s = std::min(largest_s, 0.5 / row.steps_per_second);
      tensors = std::max(tensors, static_cast<double>(row.tensors));
      bytes = std::max(bytes, static_cast<double>(row.bytes.count()));
    }
    scale_ = {largest_s, largest_s / bytes, largest_s / tensors};
  }

  ServerCost cost_at(const Vector& x) const {
    ServerCost cost{.message = Seconds(x[per_message] * scale_[per_message]),
                    .tensor = Seconds(x[per_tensor] * scale_[per_tensor])};
    if (const double byte_s = x[per_byte] * scale_[per_byte]; byte_s > 0.0)
      cost.push_rate = cost.reply_rate = BytesPerSecond(1.0 / byte_s);
    return cost;
  }

  /// By which share step times are predicted too long: linear in the costs of a server that limits them.
  std::vector<std::vector<double>> residuals_at(const std::vector<Vector>& points) {
    std::vector<ServerCost> costs;
    for (const Vector& x : points) costs.push_back(cost_at(x));
    auto values = predict_(costs);
    TANDEM_CHECK(values.size() == points.size(), "predictions", values.size());
    predictions_ += static_cast<int>(points.size());
    for (auto& of_point : values)
      for (std::size_t i = 0; i < rows_.size(); ++i)
        of_point[i] = rows_[i].steps_per_second / of_point[i] - 1.0;
    return values;
  }

  /// Of the residuals, at x_. By differences of a tenth of the whole cost, because step times have kinks
  /// where a server becomes the limit.
  void update_slopes() {
    const double difference = std::max(0.1 * (x_[per_message] + x_[per_byte] + x_[per_tensor]), 1e-3);
    std::vector<Vector> points;
    for (std::size_t number = 0; number < numbers; ++number) {
      if (!chosen_[number]) continue;
      points.push_back(x_);
      points.back()[number] += difference;
    }
    const auto values = residuals_at(points);
    auto next = values.begin();
    for (std::size_t number = 0; number < numbers; ++number) {
      slopes_[number].assign(rows_.size(), 0.0);
      if (!chosen_[number]) continue;
      for (std::size_t i = 0; i < rows_.size(); ++i)
        slopes_[number][i] = ((*next)[i] - residuals_[i]) / difference;
      ++next;
    }
  }

  /// Keeps the numbers whose effects the chosen ones before them cannot imitate.
  void choose() {
    std::set<std::string> models;
    for (const auto& row : rows_) models.insert(row.model);
    std::vector<std::vector<double>> basis;
    for (std::size_t number = 0; number < numbers; ++number) {
      std::vector<double> own = slopes_[number];
      const double whole = dot(own, own);
      for (const auto& direction : basis) {
        const double along = dot(own, direction);
        for (std::size_t i = 0; i < own.size(); ++i) own[i] -= along * direction[i];
      }
      const double length = std::sqrt(dot(own, own));
      chosen_[number] =
          basis.size() < models.size() && whole > 0.0 && length * length > least_own_share * whole;
      if (!chosen_[number]) {
        x_[number] = 0.0;
        continue;
      }
      for (double& value : own) value /= length;
      basis.push_back(std::move(own));
    }
  }

  Matrix products() const {
    Matrix a{};
    for (std::size_t i = 0; i < numbers; ++i)
      for (std::size_t j = 0; j < numbers; ++j) a[i][j] = dot(slopes_[i], slopes_[j]);
    return a;
  }

  /// The step to the least of the damped linear problem that keeps all numbers at 0 or above: the best of
  /// those with some numbers at 0.
  Vector best_step(double damping) const {
    Matrix a = products();
    Vector gradient{};
    for (std::size_t i = 0; i < numbers; ++i) {
      a[i][i] *= 1.0 + damping;
      gradient[i] = dot(slopes_[i], residuals_);
    }
    Vector best{};
    double least = 0.0;
    for (unsigned subset = 0; subset < 1U << numbers; ++subset) {
      Chosen is_free{};
      Vector step{}, right{};
      for (std::size_t i = 0; i < numbers; ++i) {
        is_free[i] = chosen_[i] && (subset >> i & 1U) != 0;
        if (!is_free[i]) step[i] = -x_[i];
      }
      for (std::size_t i = 0; i < numbers; ++i) {
        right[i] = -gradient[i];
        for (std::size_t j = 0; j < numbers; ++j) right[i] -= a[i][j] * step[j];
      }
      const auto solved = solve(a, right, is_free);
      if (!solved) continue;
      bool is_allowed = true;
      double value = 0.0;
      for (std::size_t i = 0; i < numbers; ++i) {
        step[i] += (*solved)[i];
        is_allowed = is_allowed && x_[i] + step[i] >= 0.0;
      }
      for (std::size_t i = 0; i < numbers; ++i) {
        value += 2.0 * gradient[i] * step[i];
        for (std::size_t j = 0; j < numbers; ++j) value += a[i][j] * step[i] * step[j];
      }
      if (!is_allowed || value >= least) continue;
      least = value;
      best = step;
    }
    return best;
  }

  /// One step. False: there is none that helps.
  bool improve(double& damping) {
    constexpr int most_tries = 4;
    constexpr double least_step = 1e-4, least_error = 1e-8;
    const double before = dot(residuals_, residuals_);
    if (before < least_error) return false;
    for (int i = 0; i < most_tries; ++i, damping = std::max(damping * 10, 0.1)) {
      const Vector step = best_step(damping);
      Vector next = x_;
      double length = 0.0, size = 0.0;
      for (std::size_t number = 0; number < numbers; ++number) {
        next[number] = std::max(0.0, x_[number] + step[number]);
        length += std::abs(step[number]);
        size += next[number];
      }
      if (length < least_step * size || length == 0.0) return false;
      auto residuals = residuals_at({next}).front();
      if (dot(residuals, residuals) >= before) continue;
      x_ = next;
      residuals_ = std::move(residuals);
      damping /= 10;
      return true;
    }
    return false;
  }

  /// By which share the largest step time of any row grows with all costs.
  double largest_elasticity() const {
    double largest = 0.0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      double of_row = 0.0;
      for (std::size_t number = 0; number < numbers; ++number) of_row += slopes_[number][i] * x_[number];
      largest = std::max(largest, of_row / (residuals_[i] + 1.0));
    }
    return largest;
  }

  /// One standard error of a chosen number, relative to it, if the table is as accurate as the fit.
  double uncertainty(std::size_t number, double error) const {
    Vector unit{};
    unit[number] = 1.0;
    const auto column = solve(products(), unit, chosen_);
    if (!column || x_[number] <= 0.0) return std::numeric_limits<double>::infinity();
    return std::max(error, least_table_error) * std::sqrt(std::max(0.0, (*column)[number])) / x_[number];
  }

  void warn(ServerFit& fit) const {
    const double elasticity = largest_elasticity();
    if (elasticity < usual_elasticity)
      fit.warnings.push_back(fmt::format(
          "in no row of the table does the server make up more than {:.0f} % of the step time, so its costs "
          "are known only roughly: add rows with more workers, until speed no longer grows",
          std::max(0.0, 100 * elasticity)));
    std::string unknown;
    for (std::size_t number = 0; number < numbers; ++number)
      if (!chosen_[number]) unknown += fmt::format("{}{}", unknown.empty() ? "" : " and ", names[number]);
    if (!unknown.empty())
      fit.warnings.push_back(fmt::format(
          "{} cannot be told from the other costs by this table, and count as none: predictions of other "
          "models need rows of models with other sizes and numbers of tensors",
          unknown));
    for (std::size_t number = 0; number < numbers; ++number) {
      if (!chosen_[number]) continue;
      if (x_[number] <= 0.0)
        fit.warnings.push_back(fmt::format("the best fit has no cost in {}", names[number]));
      else if (const double share = uncertainty(number, fit.error); share > largest_uncertainty)
        fit.warnings.push_back(fmt::format("the table determines {} only to +-{:.0f} %", names[number],
                                           std::min(999.0, 100 * share)));
    }
  }

  ServerFit result() const {
    ServerFit fit{
        .cost = cost_at(x_), .predicted = {}, .error = 0.0, .predictions = predictions_, .warnings = {}};
    for (std::size_t i = 0; i < rows_.size(); ++i)
      fit.predicted.push_back(rows_[i].steps_per_second / (residuals_[i] + 1.0));
    fit.error = std::sqrt(dot(residuals_, residuals_) / static_cast<double>(rows_.size()));
    warn(fit);
    return fit;
  }

  const std::vector<ServerFitRow>& rows_;
  const PredictSpeeds& predict_;
  Vector scale_{};
  Vector x_{};  ///< in units of scale_
  Chosen chosen_{};
  std::vector<double> residuals_;                    ///< by row, at x_
  std::array<std::vector<double>, numbers> slopes_;  ///< by number and row, at x_ or near it
  int predictions_ = 0;
};

}  // namespace

ServerFit fit_server_cost(const std::vector<ServerFitRow>& rows, const PredictSpeeds& predict) {
  TANDEM_CHECK(rows.size() >= 2, "rows", rows.size());
  ServerFit best;
  int predictions = 0;
  for (const Vector& start : starts) {
    ServerFit found = Fit(rows, predict).run(start);
    predictions += found.predictions;
    if (best.predicted.empty() || found.error < best.error) best = std::move(found);
    if (best.error < good_error) break;
  }
  best.predictions = predictions;
  return best;
}

}  // namespace tandem

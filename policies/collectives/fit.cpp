#include "policies/collectives/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "policies/collectives/element.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::collectives {
namespace {

constexpr std::size_t unknowns = 4;
// Times of few numbers of ranks fit several schedules equally well; the first of the catalogue is then
// chosen.
constexpr double negligible = 1e-9;      ///< squared relative error
constexpr double worth_changing = 1e-2;  ///< share of the squared errors
using Vector = std::array<double, unknowns>;

/// How often a collective has each cost: start, hops, bytes, reduced bytes.
Vector counts_of(const std::string& schedule, int ranks, std::int64_t bytes) {
  const MakeSchedule& make = catalog().find(schedule).make;
  const auto priced = [&](const LinkCost& cost) {
    return price(make, ranks, bytes / float_element.bytes, Bytes(float_element.bytes), cost).count();
  };
  const Seconds none{0.0};
  const Seconds one{1.0};
  return {1.0, priced({one, 0.0, 0.0}), priced({none, 1.0, 0.0}), priced({none, 0.0, 1.0})};
}

/// Solves the normal equations of the unknowns in `chosen` (a bit each) by Gaussian elimination. None if they
/// are singular.
std::optional<Vector> solve(const std::vector<Vector>& rows, unsigned chosen) {
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < unknowns; ++i)
    if ((chosen >> i & 1U) != 0) of.push_back(i);
  std::array<std::array<double, unknowns + 1>, unknowns> matrix{};
  Vector scale{};
  for (const std::size_t i : of) {
    for (const Vector& row : rows) scale[i] += row[i] * row[i];
    if (scale[i] <= 0.0) return std::nullopt;
    scale[i] = std::sqrt(scale[i]);
  }
  for (std::size_t a = 0; a < of.size(); ++a)
    for (const Vector& row : rows) {
      const double left = row[of[a]] / scale[of[a]];
      for (std::size_t b = 0; b < of.size(); ++b) matrix[a][b] += left * row[of[b]] / scale[of[b]];
      matrix[a][unknowns] += left;  // every row's right side is 1: the measured time over itself
    }
  for (std::size_t a = 0; a < of.size(); ++a) {
    std::size_t pivot = a;
    for (std::size_t b = a + 1; b < of.size(); ++b)
      if (std::abs(matrix[b][a]) > std::abs(matrix[pivot][a])) pivot = b;
    if (std::abs(matrix[pivot][a]) < 1e-9) return std::nullopt;
    std::swap(matrix[a], matrix[pivot]);
    for (std::size_t b = 0; b < of.size(); ++b) {
      if (b == a) continue;
      const double factor = matrix[b][a] / matrix[a][a];
      for (std::size_t column = a; column <= unknowns; ++column)
        matrix[b][column] -= factor * matrix[a][column];
    }
  }
  Vector solution{};
  for (std::size_t a = 0; a < of.size(); ++a)
    solution[of[a]] = matrix[a][unknowns] / matrix[a][a] / scale[of[a]];
  return solution;
}

double squares_of(const std::vector<Vector>& rows, const Vector& solution) {
  double sum = 0.0;
  for (const Vector& row : rows) {
    double error = -1.0;
    for (std::size_t i = 0; i < unknowns; ++i) error += row[i] * solution[i];
    sum += error * error;
  }
  return sum;
}

/// The best solution without negative unknowns.
Vector non_negative(const std::vector<Vector>& rows) {
  Vector best{};
  double least = squares_of(rows, best);
  for (unsigned chosen = 1; chosen < 1U << unknowns; ++chosen) {
    const auto solution = solve(rows, chosen);
    if (!solution || std::any_of(solution->begin(), solution->end(), [](double x) { return x < 0.0; }))
      continue;
    const double squares = squares_of(rows, *solution);
    // A further unknown has to improve the fit.
    if (squares >= least * (1 - 1e-9)) continue;
    least = squares;
    best = *solution;
  }
  return best;
}

struct Solution {
  Vector costs;
  double squares;  ///< of the relative errors
};

Solution solve_for(std::span<const MeasuredTime> times, const ScheduleChoice& choice) {
  std::vector<Vector> rows;
  for (const MeasuredTime& time : times) {
    TANDEM_CHECK(time.ranks >= 2 && time.seconds > 0.0, "ranks", time.ranks, "seconds", time.seconds);
    rows.push_back(counts_of(choice(time.ranks, time.bytes), time.ranks, time.bytes));
    for (double& count : rows.back()) count /= time.seconds;
  }
  const Vector costs = non_negative(rows);
  return {costs, squares_of(rows, costs)};
}

FittedCost fitted_cost(std::span<const MeasuredTime> times, ScheduleChoice choice, const Vector& costs) {
  FittedCost fitted{
      std::move(choice),
      {.alpha = Seconds(costs[1]), .beta = costs[2], .gamma = costs[3], .start = Seconds(costs[0])}};
  for (const MeasuredTime& time : times)
    fitted.mean_error += std::abs(predict(fitted, time.ranks, time.bytes).count() / time.seconds - 1.0) /
                         static_cast<double>(times.size());
  return fitted;
}

}  // namespace

std::optional<ScheduleChoice> library_choice(const std::string& software) {
  if (software.find("Open MPI v4.1.") == std::string::npos) return std::nullopt;
  return [](int ranks, std::int64_t bytes) -> std::string {
    if (bytes < 8 << 10) return "recursive-doubling";
    if (ranks >= 4) return "halving-doubling";
    return bytes < 256 << 10 ? "ring" : "tree";
  };
}

FittedCost fit(std::span<const MeasuredTime> times) {
  TANDEM_CHECK(times.size() >= 2, "measured times", times.size());
  FittedCost best;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& entry : catalog().entries()) {
    if (takes_groups(entry.make)) continue;
    const ScheduleChoice always = [name = entry.name](int, std::int64_t) { return name; };
    const Solution solution = solve_for(times, always);
    if (solution.squares + negligible * static_cast<double>(times.size()) >= least * (1 - worth_changing))
      continue;
    least = solution.squares;
    best = fitted_cost(times, always, solution.costs);
  }
  return best;
}

FittedCost fit(std::span<const MeasuredTime> times, const ScheduleChoice& choice) {
  TANDEM_CHECK(times.size() >= 2, "measured times", times.size());
  return fitted_cost(times, choice, solve_for(times, choice).costs);
}

Seconds predict(const FittedCost& fitted, int ranks, std::int64_t bytes) {
  const std::string schedule = fitted.choice(ranks, bytes);
  return price(catalog().find(schedule).make, ranks, bytes / float_element.bytes, Bytes(float_element.bytes),
               fitted.cost);
}

}  // namespace tandem::collectives

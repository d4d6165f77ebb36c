#include "policies/estimates/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "policies/estimates/dot.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::estimates {
namespace {

using Vector = std::vector<double>;

constexpr double dependent = 1e-9;  ///< share of a column that others do not make up

/// Columns of length 1, and the lengths that they had; of a column of zeros 0.
struct Columns {
  std::vector<Vector> columns;
  Vector lengths;
};

Columns columns_of(const Matrix& rows) {
  Columns found;
  const std::size_t count = rows.empty() ? 0 : rows.front().size();
  for (std::size_t column = 0; column < count; ++column) {
    Vector values;
    for (const Vector& row : rows) {
      TANDEM_CHECK(row.size() == count, row.size(), count);
      values.push_back(row[column]);
    }
    const double length = std::sqrt(dot(values, values));
    if (length > 0.0)
      for (double& value : values) value /= length;
    found.columns.push_back(std::move(values));
    found.lengths.push_back(length);
  }
  return found;
}

/// Reflects the part of the vector from `from` on as the mirror does.
void reflect(Vector& vector, const Vector& mirror, double square, std::size_t from) {
  const double along = 2.0 * dot(mirror, vector, from) / square;
  for (std::size_t i = from; i < vector.size(); ++i) vector[i] -= along * mirror[i];
}

/// Of columns of length 1; the farthest from the span of the earlier ones is next.
std::optional<LeastSquares> solve(std::vector<Vector> columns, Vector values) {
  const std::size_t count = columns.size();
  if (values.size() < count) return std::nullopt;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) order.push_back(i);
  Vector diagonal;
  for (std::size_t step = 0; step < count; ++step) {
    const auto left = [&](std::size_t place) {
      return dot(columns[order[place]], columns[order[place]], step);
    };
    std::size_t pivot = step;
    for (std::size_t place = step + 1; place < count; ++place)
      if (left(place) > left(pivot)) pivot = place;
    std::swap(order[step], order[pivot]);
    const double length = std::sqrt(left(step));
    if (length < dependent) return std::nullopt;
    Vector mirror = columns[order[step]];
    mirror[step] += mirror[step] >= 0.0 ? length : -length;
    const double square = dot(mirror, mirror, step);
    for (std::size_t place = step; place < count; ++place)
      reflect(columns[order[place]], mirror, square, step);
    reflect(values, mirror, square, step);
    diagonal.push_back(length);
  }
  LeastSquares found{Vector(count), diagonal.empty() ? 1.0 : diagonal.front() / diagonal.back()};
  for (std::size_t step = count; step-- > 0;) {
    double rest = values[step];
    for (std::size_t later = step + 1; later < count; ++later)
      rest -= columns[order[later]][step] * found.coefficients[order[later]];
    found.coefficients[order[step]] = rest / columns[order[step]][step];
  }
  return found;
}

/// Lawson's and Hanson's algorithm on columns of length 1.
class NonNegative {
 public:
  NonNegative(const std::vector<Vector>& columns, const Vector& values)
      : columns_(columns), values_(values), found_(columns.size(), 0.0), is_free_(columns.size(), false) {}

  Vector run() {
    std::vector<bool> is_refused(columns_.size(), false);
    for (std::size_t tries = 0; tries < 3 * columns_.size() + 3; ++tries) {
      const std::size_t next = steepest(is_refused);
      if (next == columns_.size()) break;
      is_free_[next] = true;
      // A column that the free ones make up, or that would be negative, changes nothing.
      if (const auto with = of_free(); !with || (*with)[next] <= 0.0) {
        is_free_[next] = false;
        is_refused[next] = true;
        continue;
      }
      is_refused.assign(columns_.size(), false);
      descend();
    }
    return found_;
  }

 private:
  /// The column along which the squares fall fastest; the number of columns: none.
  std::size_t steepest(const std::vector<bool>& is_refused) const {
    Vector rest = values_;
    for (std::size_t column = 0; column < columns_.size(); ++column)
      for (std::size_t row = 0; row < rest.size(); ++row) rest[row] -= found_[column] * columns_[column][row];
    double best = 1e-12 * std::sqrt(dot(values_, values_));
    std::size_t found = columns_.size();
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (is_free_[column] || is_refused[column]) continue;
      const double slope = dot(columns_[column], rest);
      if (slope <= best) continue;
      best = slope;
      found = column;
    }
    return found;
  }

  /// Coefficients of all columns, with 0 for those that are not free.
  std::optional<Vector> of_free() const {
    std::vector<Vector> free;
    for (std::size_t column = 0; column < columns_.size(); ++column)
      if (is_free_[column]) free.push_back(columns_[column]);
    const auto solved = solve(std::move(free), values_);
    if (!solved) return std::nullopt;
    Vector all(columns_.size(), 0.0);
    std::size_t next = 0;
    for (std::size_t column = 0; column < columns_.size(); ++column)
      if (is_free_[column]) all[column] = solved->coefficients[next++];
    return all;
  }

  /// Moves towards the free solution, and gives up the columns that reach 0 on the way.
  void descend() {
    for (auto target = of_free(); target; target = of_free()) {
      // Of the way; where a column that falls reaches 0.
      Vector ends(columns_.size(), 1.0);
      for (std::size_t column = 0; column < columns_.size(); ++column)
        if (is_free_[column] && (*target)[column] < 0.0)
          ends[column] = found_[column] / (found_[column] - (*target)[column]);
      const double share = *std::ranges::min_element(ends);
      for (std::size_t column = 0; column < columns_.size(); ++column) {
        if (!is_free_[column]) continue;
        found_[column] += share * ((*target)[column] - found_[column]);
        if (share == 1.0 || ends[column] > share) continue;
        found_[column] = 0.0;
        is_free_[column] = false;
      }
      if (share == 1.0) return;
    }
  }

  const std::vector<Vector>& columns_;
  const Vector& values_;
  Vector found_;
  std::vector<bool> is_free_;
};

}  // namespace

std::optional<LeastSquares> least_squares(const Matrix& rows, const std::vector<double>& values) {
  TANDEM_CHECK(rows.size() == values.size(), rows.size(), values.size());
  const Columns scaled = columns_of(rows);
  auto found = solve(scaled.columns, values);
  if (!found) return found;
  for (std::size_t column = 0; column < scaled.lengths.size(); ++column)
    found->coefficients[column] /= scaled.lengths[column];
  return found;
}

std::vector<double> non_negative_least_squares(const Matrix& rows, const std::vector<double>& values) {
  TANDEM_CHECK(rows.size() == values.size(), rows.size(), values.size());
  const Columns scaled = columns_of(rows);
  std::vector<double> found = NonNegative(scaled.columns, values).run();
  for (std::size_t column = 0; column < found.size(); ++column)
    if (scaled.lengths[column] > 0.0) found[column] /= scaled.lengths[column];
  return found;
}

}  // namespace tandem::estimates

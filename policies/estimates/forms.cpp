#include "policies/estimates/forms.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "policies/estimates/form_parts.hpp"
#include "policies/estimates/least_squares.hpp"
#include "policies/estimates/roofline.hpp"
#include "policies/estimates/support_vectors.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::estimates {
namespace {

using Vector = std::vector<double>;
using Points = std::vector<FormPoint>;

double squared_distance(const Vector& one, const Vector& other) {
  double sum = 0.0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += (one[i] - other[i]) * (one[i] - other[i]);
  return sum;
}

double product(const FormTerm& term, const Vector& scaled_features) {
  double value = 1.0;
  for (std::size_t i = 0; i < term.powers.size(); ++i)
    for (int power = 0; power < term.powers[i]; ++power) value *= scaled_features[i];
  return value;
}

/// The constant, and all products of up to `degree` features.
void add_terms(FittedForm& form, int degree) {
  const std::size_t count = form.least.size();
  form.terms.push_back({std::vector<int>(count, 0), 0.0});
  for (std::size_t i = 0; i < count && degree >= 1; ++i) {
    form.terms.push_back({std::vector<int>(count, 0), 0.0});
    form.terms.back().powers[i] = 1;
  }
  for (std::size_t i = 0; i < count && degree >= 2; ++i)
    for (std::size_t j = i; j < count; ++j) {
      form.terms.push_back({std::vector<int>(count, 0), 0.0});
      ++form.terms.back().powers[i];
      ++form.terms.back().powers[j];
    }
}

/// A row for each point. Divided by the time, so that differences are relative errors; a logarithmic form's
/// are that as they are.
std::pair<Matrix, Vector> system_of(const FittedForm& form, const Points& points) {
  Matrix rows;
  Vector values;
  for (const FormPoint& point : points) {
    const Vector features = scaled(form, point.input.features);
    const double weight = form.is_logarithmic ? 1.0 : 1.0 / point.value;
    rows.emplace_back();
    for (const FormTerm& term : form.terms) rows.back().push_back(weight * product(term, features));
    values.push_back(form.is_logarithmic ? std::log(point.value) : 1.0);
  }
  return {std::move(rows), std::move(values)};
}

FormResult solved(FittedForm form, const Points& points) {
  // As many points as terms leave no error to judge by.
  if (points.size() <= form.terms.size())
    return {std::nullopt, std::to_string(points.size()) + " points for " + std::to_string(form.terms.size()) +
                              " coefficients"};
  const auto [rows, values] = system_of(form, points);
  const auto found = least_squares(rows, values);
  if (!found) return {std::nullopt, "features that others make up"};
  for (std::size_t i = 0; i < form.terms.size(); ++i) form.terms[i].coefficient = found->coefficients[i];
  form.condition = found->condition;
  return {std::move(form), ""};
}

FormResult fit_mean(const Points& points) {
  FittedForm form = empty_form("mean", points);
  form.is_logarithmic = true;
  double sum = 0.0;
  for (const FormPoint& point : points) sum += std::log(point.value);
  form.terms = {
      {std::vector<int>(points.front().input.features.size(), 0), sum / static_cast<double>(points.size())}};
  return {std::move(form), ""};
}

FormResult fit_additive(const Points& points) {
  for (const FormPoint& point : points)
    if (std::ranges::any_of(point.input.features, [](double value) { return value < 0.0; }))
      return {std::nullopt, "features below 0"};
  FittedForm form = empty_form("additive", points);
  add_terms(form, 1);
  const auto [rows, values] = system_of(form, points);
  const Vector found = non_negative_least_squares(rows, values);
  for (std::size_t i = 0; i < found.size(); ++i) form.terms[i].coefficient = found[i];
  form.condition = condition_of_used(rows, found, values);
  return {std::move(form), ""};
}

FormResult fit_polynomial(const char* name, int degree, const Points& points) {
  FittedForm form = empty_form(name, points);
  scale_to(form, points);
  add_terms(form, degree);
  return solved(std::move(form), points);
}

double trace_of(const Matrix& matrix) {
  double trace = 0.0;
  for (std::size_t i = 0; i < matrix.size(); ++i) trace += matrix[i][i];
  return trace;
}

/// The eigenvector of the largest eigenvalue of a symmetric matrix without negative eigenvalues, by repeated
/// squaring; zeros if all are 0.
Vector first_direction(Matrix matrix) {
  constexpr int squarings = 60;
  const std::size_t size = matrix.size();
  for (int step = 0; step < squarings; ++step) {
    const double trace = trace_of(matrix);
    if (!(trace > 0.0)) return Vector(size, 0.0);
    Matrix square(size, Vector(size, 0.0));
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        for (std::size_t k = 0; k < size; ++k) square[i][j] += matrix[i][k] / trace * (matrix[k][j] / trace);
    matrix = std::move(square);
  }
  // All columns are multiples of the vector; the longest has the largest diagonal element.
  std::size_t longest = 0;
  for (std::size_t i = 1; i < size; ++i)
    if (matrix[i][i] > matrix[longest][longest]) longest = i;
  Vector direction = matrix[longest];
  double square = 0.0;
  for (const double value : direction) square += value * value;
  for (double& value : direction) value /= std::sqrt(square);
  return direction;
}

/// Directions in which scaled features vary most, at right angles to each other; zeros where none vary.
std::vector<Vector> main_directions(const FittedForm& form, const Points& points, std::size_t count) {
  const std::size_t size = form.least.size();
  Vector middle(size, 0.0);
  std::vector<Vector> values;
  for (const FormPoint& point : points) {
    values.push_back(scaled(form, point.input.features));
    for (std::size_t i = 0; i < size; ++i) middle[i] += values.back()[i] / static_cast<double>(points.size());
  }
  Matrix variation(size, Vector(size, 0.0));
  for (const Vector& value : values)
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        variation[i][j] += (value[i] - middle[i]) * (value[j] - middle[j]);
  constexpr double rounding = 1e-12;
  const double whole = trace_of(variation);
  std::vector<Vector> found;
  while (found.size() < count) {
    if (trace_of(variation) <= rounding * whole) variation.assign(size, Vector(size, 0.0));
    found.push_back(first_direction(variation));
    const Vector& direction = found.back();
    double along = 0.0;
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) along += direction[i] * variation[i][j] * direction[j];
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) variation[i][j] -= along * direction[i] * direction[j];
  }
  return found;
}

/// Of few groups, directions are chance.
FormResult fit_components(const Points& points) {
  constexpr std::size_t components = 2;
  if (points.front().input.features.size() <= components) return {std::nullopt, "no more than two features"};
  if (count_groups(points) < least_groups) return {std::nullopt, too_few_groups};
  FittedForm form = empty_form("components", points);
  scale_to(form, points);
  add_terms(form, 1);
  const auto directions = main_directions(form, points, components);
  const auto [rows, values] = system_of(form, points);
  Matrix reduced;
  for (const Vector& row : rows) {
    reduced.push_back({row[0]});
    for (const Vector& direction : directions) {
      double along = 0.0;
      for (std::size_t i = 0; i < direction.size(); ++i) along += direction[i] * row[i + 1];
      reduced.back().push_back(along);
    }
  }
  const auto found = least_squares(reduced, values);
  if (!found) return {std::nullopt, "features that vary in fewer than two directions"};
  form.condition = found->condition;
  form.terms[0].coefficient = found->coefficients[0];
  for (std::size_t i = 0; i < form.least.size(); ++i)
    for (std::size_t k = 0; k < components; ++k)
      form.terms[i + 1].coefficient += found->coefficients[k + 1] * directions[k][i];
  return {std::move(form), ""};
}

FormResult fit_linear(const Points& points) { return fit_polynomial("linear", 1, points); }
FormResult fit_quadratic(const Points& points) { return fit_polynomial("quadratic", 2, points); }

FormResult fit_powers(const Points& points) {
  if (!are_above_zero(points)) return {std::nullopt, not_above_zero};
  FittedForm form = empty_form("powers", points);
  form.is_logarithmic = true;
  scale_to(form, points);
  add_terms(form, 1);
  return solved(std::move(form), points);
}

}  // namespace

double FittedForm::predict(const FormInput& input) const {
  TANDEM_CHECK(input.features.size() == least.size(), input.features.size(), least.size());
  // A mean takes no logarithm of features that may be 0.
  const bool is_constant = centres.empty() && std::ranges::all_of(terms, [](const FormTerm& term) {
                             return std::ranges::all_of(term.powers, [](int power) { return power == 0; });
                           });
  const Vector values = is_constant ? Vector(least.size(), 0.0) : scaled(*this, input.features);
  double sum = layer_times ? seconds_of(*layer_times, input.layers) : 0.0;
  for (const FormTerm& term : terms) sum += term.coefficient * product(term, values);
  for (const FormCentre& centre : centres)
    sum += centre.coefficient * std::exp(-gamma * squared_distance(centre.at, values));
  return std::max(floor, is_logarithmic ? std::exp(sum) : sum);
}

const Catalog<FormFit>& forms() {
  static const Catalog<FormFit> all(
      "form of a predictor",
      {{"mean", "the geometric mean, whatever the features", "", {}, fit_mean},
       {"additive",
        "a sum of features times seconds that are not below 0, and a constant",
        "Venkataraman et al. (2016), Ernest",
        {},
        fit_additive},
       {"roofline",
        "a sum over layers, each as long as its flops or its bytes take, and launches; of tables with a "
        "column "
        "model",
        "Williams, Waterman, Patterson (2009), Roofline; Qi, Sparks, Talwalkar (2017), Paleo",
        {},
        fit_roofline},
       {"components",
        "least squares of the two principal components of three or more features",
        "",
        {},
        fit_components},
       {"linear", "least squares", "", {}, fit_linear},
       {"powers", "a product of powers of the features: least squares of logarithms", "", {}, fit_powers},
       {"quadratic", "polynomial of degree 2, with all products of two features", "", {}, fit_quadratic},
       {"svr",
        "support vectors: regression of logarithms with a Gaussian kernel, its options by folds of groups",
        "Drucker, Burges, Kaufman, Smola, Vapnik (1996); Chang, Lin (2011), LIBSVM",
        {},
        fit_support_vectors}});
  return all;
}

}  // namespace tandem::estimates

#include "policies/estimates/form_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace tandem::estimates {

std::size_t count_groups(const std::vector<FormPoint>& points) {
  std::set<std::string> groups;
  for (const FormPoint& point : points) groups.insert(point.group);
  return groups.size();
}

bool are_above_zero(const std::vector<FormPoint>& points) {
  return std::ranges::all_of(points, [](const FormPoint& point) {
    return std::ranges::all_of(point.input.features, [](double value) { return value > 0.0; });
  });
}

FittedForm empty_form(const char* name, const std::vector<FormPoint>& points) {
  constexpr double share_of_least = 0.1;  // of the floor
  const std::size_t features = points.front().input.features.size();
  FittedForm form{.name = name,
                  .least = std::vector<double>(features, 0.0),
                  .span = std::vector<double>(features, 1.0),
                  .terms = {}};
  form.floor = std::numeric_limits<double>::infinity();
  for (const FormPoint& point : points) form.floor = std::min(form.floor, share_of_least * point.value);
  return form;
}

void scale_to(FittedForm& form, const std::vector<FormPoint>& points) {
  for (std::size_t i = 0; i < form.least.size(); ++i) {
    std::vector<double> values;
    for (const FormPoint& point : points) {
      const double feature = point.input.features[i];
      values.push_back(form.is_logarithmic ? std::log(feature) : feature);
    }
    const auto [least, most] = std::ranges::minmax(values);
    form.least[i] = least;
    form.span[i] = most > least ? most - least : 1.0;
  }
}

std::vector<double> scaled(const FittedForm& form, const std::vector<double>& features) {
  std::vector<double> found;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const double value = form.is_logarithmic ? std::log(features[i]) : features[i];
    found.push_back((value - form.least[i]) / form.span[i]);
  }
  return found;
}

double condition_of_used(const Matrix& rows, const std::vector<double>& coefficients,
                         const std::vector<double>& values) {
  Matrix used;
  for (const std::vector<double>& row : rows) {
    used.emplace_back();
    for (std::size_t i = 0; i < coefficients.size(); ++i)
      if (coefficients[i] > 0.0) used.back().push_back(row[i]);
  }
  const auto again = least_squares(used, values);
  return again ? again->condition : 1.0;
}

}  // namespace tandem::estimates

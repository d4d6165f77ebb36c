#include "policies/estimates/roofline.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "policies/estimates/form_parts.hpp"
#include "policies/estimates/least_squares.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::estimates {
namespace {

using Points = std::vector<FormPoint>;

/// The best coefficients with a ratio of the rates.
struct RooflineFit {
  double flops_per_byte;  ///< of a layer whose flops and bytes take the same time
  Matrix rows;
  std::vector<double> coefficients;  ///< seconds per flop, per launch, constant
  double error = 0.0;                ///< sum of squared relative errors
};

RooflineFit fit_with(double flops_per_byte, const Points& points) {
  RooflineFit fit{.flops_per_byte = flops_per_byte, .rows = {}, .coefficients = {}};
  for (const FormPoint& point : points) {
    double flops = 0.0, launches = 0.0;
    for (const LayerDemand& layer : point.input.layers) {
      flops += std::max(layer.flops, flops_per_byte * layer.bytes);
      launches += layer.launches;
    }
    fit.rows.push_back({flops / point.value, launches / point.value, 1.0 / point.value});
  }
  fit.coefficients = non_negative_least_squares(fit.rows, std::vector<double>(points.size(), 1.0));
  for (const std::vector<double>& row : fit.rows) {
    double ratio = 0.0;
    for (std::size_t i = 0; i < row.size(); ++i) ratio += fit.coefficients[i] * row[i];
    fit.error += (ratio - 1.0) * (ratio - 1.0);
  }
  return fit;
}

/// Logarithms of ratios between which layers change from one side of the roofline to the other.
std::pair<double, double> range_of_ratios(const Points& points) {
  constexpr double beyond = 4.0;
  double least = std::numeric_limits<double>::infinity(), most = 0.0;
  for (const FormPoint& point : points)
    for (const LayerDemand& layer : point.input.layers) {
      if (!(layer.flops > 0.0 && layer.bytes > 0.0)) continue;
      least = std::min(least, layer.flops / layer.bytes);
      most = std::max(most, layer.flops / layer.bytes);
    }
  if (!(most > 0.0)) return {0.0, 0.0};
  return {std::log(least / beyond), std::log(most * beyond)};
}

RooflineFit search(const Points& points) {
  constexpr int steps = 60, halvings = 25;
  const auto [first, last] = range_of_ratios(points);
  const double step = (last - first) / steps;
  RooflineFit best = fit_with(std::exp(first), points);
  double middle = first;
  const auto take_better = [&](double ratio) {
    RooflineFit fit = fit_with(std::exp(ratio), points);
    if (fit.error >= best.error) return;
    best = std::move(fit);
    middle = ratio;
  };
  for (int i = 1; i <= steps; ++i) take_better(first + i * step);
  double width = step;
  for (int i = 0; i < halvings; ++i) {
    width /= 2.0;
    const double centre = middle;
    take_better(centre - width);
    take_better(centre + width);
  }
  return best;
}

}  // namespace

double seconds_of(const LayerTimes& times, const std::vector<LayerDemand>& layers) {
  TANDEM_CHECK(!layers.empty(), "a form of layers");
  double sum = 0.0;
  for (const LayerDemand& layer : layers)
    sum += std::max(times.flop_s * layer.flops, times.byte_s * layer.bytes) + times.launch_s * layer.launches;
  return sum;
}

FormResult fit_roofline(const Points& points) {
  constexpr std::size_t numbers = 4;
  if (std::ranges::any_of(points, [](const FormPoint& point) { return point.input.layers.empty(); }))
    return {std::nullopt, "layers that are not known"};
  if (points.size() <= numbers)
    return {std::nullopt,
            std::to_string(points.size()) + " points for " + std::to_string(numbers) + " coefficients"};
  FittedForm form = empty_form("roofline", points);
  const RooflineFit found = search(points);
  const double flop_s = found.coefficients[0];
  form.layer_times = LayerTimes{
      .flop_s = flop_s, .byte_s = found.flops_per_byte * flop_s, .launch_s = found.coefficients[1]};
  form.terms = {{std::vector<int>(form.least.size(), 0), found.coefficients[2]}};
  form.condition = condition_of_used(found.rows, found.coefficients, std::vector<double>(points.size(), 1.0));
  return {std::move(form), ""};
}

}  // namespace tandem::estimates

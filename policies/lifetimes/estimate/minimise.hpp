// The minimum of a function of a few variables without derivatives. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tandem::lifetimes {

struct Minimum {
  std::vector<double> at;
  double value;
};

namespace detail {

/// One run of the method of Nelder and Mead (1965). The function may be infinite, but not at `start`.
template <class Function>
Minimum nelder_mead(const Function& function, const std::vector<double>& start, double step) {
  const std::size_t size = start.size();
  std::vector<Minimum> simplex = {{start, function(start)}};
  for (std::size_t i = 0; i < size; ++i) {
    auto at = start;
    at[i] += step;
    double value = function(at);
    if (std::isinf(value)) at[i] = start[i] - step, value = function(at);
    simplex.push_back({at, value});
  }
  const auto toward = [&](const std::vector<double>& centre, const std::vector<double>& point,
                          double factor) {
    std::vector<double> at(size);
    for (std::size_t i = 0; i < size; ++i) at[i] = centre[i] + factor * (point[i] - centre[i]);
    const double value = function(at);
    return Minimum{std::move(at), value};
  };
  for (std::size_t iteration = 0; iteration < 400 * (size + 1); ++iteration) {
    std::ranges::stable_sort(simplex, {}, &Minimum::value);
    Minimum& worst = simplex.back();
    double extent = 0.0;
    for (std::size_t i = 0; i < size; ++i)
      extent = std::max(extent, std::abs(worst.at[i] - simplex.front().at[i]));
    if (worst.value - simplex.front().value < 1e-9 && extent < 1e-5) break;
    std::vector<double> centre(size, 0.0);
    for (std::size_t point = 0; point < size; ++point)
      for (std::size_t i = 0; i < size; ++i) centre[i] += simplex[point].at[i] / static_cast<double>(size);
    Minimum reflected = toward(centre, worst.at, -1.0);
    if (reflected.value < simplex.front().value) {
      Minimum expanded = toward(centre, worst.at, -2.0);
      worst = expanded.value < reflected.value ? std::move(expanded) : std::move(reflected);
    } else if (reflected.value < simplex[size - 1].value) {
      worst = std::move(reflected);
    } else {
      const bool outside = reflected.value < worst.value;
      Minimum contracted = toward(centre, worst.at, outside ? -0.5 : 0.5);
      if (contracted.value < std::min(worst.value, reflected.value)) {
        worst = std::move(contracted);
      } else {
        for (std::size_t point = 1; point <= size; ++point)
          simplex[point] = toward(simplex.front().at, simplex[point].at, 0.5);
      }
    }
  }
  return *std::ranges::min_element(simplex, {}, &Minimum::value);
}

}  // namespace detail

/// From `start`, restarted until that no longer helps, because a simplex can collapse too early. `step`: the
/// expected distance. Pre: the function is finite at `start`.
template <class Function>
Minimum minimise(const Function& function, const std::vector<double>& start, double step) {
  if (start.empty()) return {start, function(start)};
  Minimum best = detail::nelder_mead(function, start, step);
  for (int again = 0; again < 8; ++again) {
    Minimum next = detail::nelder_mead(function, best.at, step * 0.5);
    const double gain = best.value - next.value;
    if (gain > 0.0) best = std::move(next);
    if (gain < 1e-6) break;
  }
  return best;
}

}  // namespace tandem::lifetimes

// The piecewise linear fit of message times. Pure.
#include <algorithm>
#include <limits>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "workloads/calibration/calibration.hpp"

namespace tandem {
namespace {

/// Least squares of the relative error over entries [first, last).
struct Line {
  double alpha;
  double beta;
  double error;  ///< sum of squared relative errors
};

Line fit_line(const std::vector<Profile::MessageEntry>& messages, std::size_t first, std::size_t last) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = first; i < last; ++i) {
    const double weight = 1.0 / (messages[i].median_s * messages[i].median_s);
    const auto size = static_cast<double>(messages[i].bytes);
    w += weight;
    x += weight * size;
    y += weight * messages[i].median_s;
    xx += weight * size * size;
    xy += weight * size * messages[i].median_s;
  }
  const double determinant = w * xx - x * x;
  // Excludes impossible fits: a negative latency, or a bandwidth above that of any memory (a terabyte per
  // second).
  constexpr double least_beta = 1e-12;
  Line line{.alpha = y / w, .beta = least_beta, .error = 0.0};
  if (determinant > 0.0) line.beta = std::max(least_beta, (w * xy - x * y) / determinant);
  line.alpha = (y - line.beta * x) / w;
  if (line.alpha < 0.0) line = {.alpha = 0.0, .beta = xy / xx, .error = 0.0};
  for (std::size_t i = first; i < last; ++i) {
    const double fitted = line.alpha + line.beta * static_cast<double>(messages[i].bytes);
    const double error = fitted / messages[i].median_s - 1.0;
    line.error += error * error;
  }
  return line;
}

}  // namespace

std::vector<Profile::NetworkSegment> fit_network(const std::vector<Profile::MessageEntry>& messages) {
  constexpr std::size_t most_segments = 4;
  constexpr std::size_t fewest_points = 3;
  const std::size_t points = messages.size();
  TANDEM_CHECK(points >= 2, "points", points);
  // best[k][end]: the cheapest cover of the first `end` points by k + 1 segments, and where its last one
  // begins.
  struct Cover {
    double error = std::numeric_limits<double>::infinity();
    std::size_t begin = 0;
  };
  std::vector<std::vector<Cover>> best(most_segments, std::vector<Cover>(points + 1));
  for (std::size_t end = 2; end <= points; ++end) best[0][end] = {fit_line(messages, 0, end).error, 0};
  std::size_t chosen = 0;
  for (std::size_t k = 1; k < most_segments; ++k) {
    for (std::size_t end = (k + 1) * fewest_points; end <= points; ++end)
      for (std::size_t begin = k * fewest_points; begin + fewest_points <= end; ++begin) {
        const double error = best[k - 1][begin].error + fit_line(messages, begin, end).error;
        if (error < best[k][end].error) best[k][end] = {error, begin};
      }
    // Errors below a thousandth do not justify another segment.
    const bool exact = best[chosen][points].error < 1e-6 * static_cast<double>(points);
    if (!exact && best[k][points].error < 0.8 * best[chosen][points].error) chosen = k;
  }
  std::vector<Profile::NetworkSegment> segments;
  for (std::size_t k = chosen + 1, end = points; k-- > 0;) {
    const std::size_t begin = best[k][end].begin;
    const Line line = fit_line(messages, begin, end);
    segments.push_back({begin == 0 ? 0 : messages[begin].bytes, line.alpha, line.beta});
    end = begin;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

std::int64_t fit_held(const std::vector<Profile::MessageEntry>& messages,
                      const std::vector<Profile::NetworkSegment>& segments) {
  constexpr std::size_t largest = 3;
  std::vector<double> held;
  for (std::size_t i = messages.size() - std::min(largest, messages.size()); i < messages.size(); ++i) {
    const double bytes = (messages[i].median_s - messages[i].sent_s) / segments.back().beta_s;
    held.push_back(std::clamp(bytes, 0.0, static_cast<double>(messages[i].bytes)));
  }
  return static_cast<std::int64_t>(quantile(held, 0.5));
}

}  // namespace tandem

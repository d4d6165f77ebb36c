#include "validation/compare/statistics.hpp"

#include <math.h>  // Boost 1.74 uses sqrt without including it

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::validation {
namespace {

/// Sums over any range of positions in constant time.
struct PrefixSums {
  explicit PrefixSums(const Series& series) : sums(1, 0.0), counts(1, 0.0) {
    for (std::size_t i = 0; i < series.sums.size(); ++i) {
      sums.push_back(sums.back() + series.sums[i]);
      counts.push_back(counts.back() + series.counts[i]);
    }
  }
  std::size_t size() const { return sums.size() - 1; }
  std::vector<double> sums;
  std::vector<double> counts;
};

/// A mean that grows block by block.
struct Mean {
  double sum = 0;
  double count = 0;
  /// Adds `length` positions beginning at the relative place `place` in [0, 1).
  void add(const PrefixSums& series, double place, std::size_t length) {
    length = std::min(length, series.size());
    const auto begin = static_cast<std::size_t>(place * static_cast<double>(series.size() - length + 1));
    sum += series.sums[begin + length] - series.sums[begin];
    count += series.counts[begin + length] - series.counts[begin];
  }
  double value() const { return sum / count; }
};

/// About their mean, so that they are multiples of a half, whose products add up exactly.
std::vector<double> centred_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double shared = (static_cast<double>(first + end) - static_cast<double>(values.size())) / 2;
    for (; first < end; ++first) ranks[order[first]] = shared;
  }
  return ranks;
}

/// The correlation of deviations from the means.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto product = [](const auto& x, const auto& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  return product(a, b) / std::sqrt(product(a, a) * product(b, b));
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

bool all_tie(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

/// Calls `visit(difference, width)` for each piece of the line on which both distribution functions are flat.
template <class Visit>
void between_distributions(std::vector<double> a, std::vector<double> b, Visit&& visit) {
  TANDEM_CHECK(!a.empty() && !b.empty());
  a = sorted(std::move(a));
  b = sorted(std::move(b));
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const double at = i == a.size() ? b[j] : j == b.size() ? a[i] : std::min(a[i], b[j]);
    while (i < a.size() && a[i] == at) ++i;
    while (j < b.size() && b[j] == at) ++j;
    const double next = i < a.size() && j < b.size() ? std::min(a[i], b[j])
                        : i < a.size()               ? a[i]
                        : j < b.size()               ? b[j]
                                                     : at;
    visit(static_cast<double>(i) / static_cast<double>(a.size()) -
              static_cast<double>(j) / static_cast<double>(b.size()),
          next - at);
  }
}

}  // namespace

Moments mean_and_deviation(const std::vector<double>& values) {
  namespace statistics = boost::math::statistics;
  return {values.empty() ? std::nan("") : statistics::mean(values),
          values.size() < 2 ? std::nan("") : std::sqrt(statistics::sample_variance(values))};
}

double relative_error(double simulated, double measured) {
  if (measured == 0) return simulated == 0 ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  return (simulated - measured) / measured;
}

double Series::mean() const {
  return std::accumulate(sums.begin(), sums.end(), 0.0) / std::accumulate(counts.begin(), counts.end(), 0.0);
}

std::vector<double> resampled_errors(const Series& simulated, const std::vector<Series>& measured,
                                     const Resampling& resampling) {
  TANDEM_CHECK(!measured.empty());
  std::size_t positions = simulated.sums.size();
  for (const auto& run : measured) positions = std::min(positions, run.sums.size());
  if (positions < 2) return {};
  const PrefixSums simulation(simulated);
  const std::vector<PrefixSums> runs(measured.begin(), measured.end());
  const auto block = static_cast<std::size_t>(std::lround(std::cbrt(static_cast<double>(positions))));
  const std::size_t blocks = (positions + block - 1) / block;
  Rng rng = Rng::stream(resampling.seed, "bootstrap of steps");
  std::vector<double> errors;
  errors.reserve(static_cast<std::size_t>(resampling.resamples));
  for (int i = 0; i < resampling.resamples; ++i) {
    Mean simulated_mean, measured_mean;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const auto& drawn = runs[rng.below(runs.size())];
      for (std::size_t b = 0; b < blocks; ++b) {
        const double place = rng.uniform();
        simulated_mean.add(simulation, place, block);
        measured_mean.add(drawn, place, block);
      }
    }
    errors.push_back(relative_error(simulated_mean.value(), measured_mean.value()));
  }
  return errors;
}

std::vector<double> resampled_errors(double simulated, const std::vector<double>& measured,
                                     const Resampling& resampling) {
  auto errors = resampled_means(measured, resampling);
  for (double& value : errors) value = relative_error(simulated, value);
  return errors;
}

std::optional<Interval> percentile_interval(const std::vector<double>& values, double level) {
  if (values.empty() || std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
    return std::nullopt;
  return Interval{quantile(values, (1 - level) / 2), quantile(values, (1 + level) / 2)};
}

const char* equivalence_name(Equivalence verdict) {
  switch (verdict) {
    case Equivalence::equivalent:
      return "equivalent";
    case Equivalence::different:
      return "different";
    case Equivalence::inconclusive:
      return "inconclusive";
  }
  return "";
}

std::optional<Equivalence> equivalence(const std::vector<double>& errors, double margin) {
  const auto interval = percentile_interval(errors, 0.9);
  if (!interval) return std::nullopt;
  const double bound = std::log1p(margin);
  const double low = std::log1p(interval->low), high = std::log1p(interval->high);
  if (low >= -bound && high <= bound) return Equivalence::equivalent;
  if (high < -bound || low > bound) return Equivalence::different;
  return Equivalence::inconclusive;
}

std::optional<double> noise_floor(const std::vector<double>& repetitions) {
  if (repetitions.size() < 2) return std::nullopt;
  const double total = std::accumulate(repetitions.begin(), repetitions.end(), 0.0);
  std::vector<double> distances;
  for (const double value : repetitions) {
    const double others = (total - value) / static_cast<double>(repetitions.size() - 1);
    distances.push_back(std::abs(relative_error(value, others)));
  }
  return boost::math::statistics::mean(distances);
}

std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b) {
  TANDEM_CHECK(a.size() == b.size(), a.size(), b.size());
  if (a.size() < 2 || all_tie(a) || all_tie(b)) return std::nullopt;
  return correlation(centred_ranks(a), centred_ranks(b));
}

std::optional<double> pearson(const std::vector<double>& a, const std::vector<double>& b) {
  TANDEM_CHECK(a.size() == b.size(), a.size(), b.size());
  if (a.size() < 3 || all_tie(a) || all_tie(b)) return std::nullopt;
  const auto centred = [](std::vector<double> values) {
    const double mean = boost::math::statistics::mean(values);
    for (double& value : values) value -= mean;
    return values;
  };
  return correlation(centred(a), centred(b));
}

std::optional<double> kendall(const std::vector<double>& a, const std::vector<double>& b) {
  TANDEM_CHECK(a.size() == b.size(), a.size(), b.size());
  if (a.size() < 2 || all_tie(a) || all_tie(b)) return std::nullopt;
  double agreement = 0, untied_a = 0, untied_b = 0;
  const auto sign = [](double x, double y) { return x < y ? -1.0 : x > y ? 1.0 : 0.0; };
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double in_a = sign(a[i], a[j]), in_b = sign(b[i], b[j]);
      agreement += in_a * in_b;
      untied_a += in_a * in_a;
      untied_b += in_b * in_b;
    }
  return agreement / std::sqrt(untied_a * untied_b);
}

double kolmogorov_distance(std::vector<double> a, std::vector<double> b) {
  double largest = 0;
  between_distributions(std::move(a), std::move(b), [&](double difference, double) {
    largest = std::max(largest, std::abs(difference));
  });
  return largest;
}

double wasserstein_distance(std::vector<double> a, std::vector<double> b) {
  double area = 0;
  between_distributions(std::move(a), std::move(b),
                        [&](double difference, double width) { area += std::abs(difference) * width; });
  return area;
}

std::vector<double> resampled_means(const std::vector<double>& values, const Resampling& resampling) {
  if (values.size() < 2) return {};
  Rng rng = Rng::stream(resampling.seed, "bootstrap of means");
  std::vector<double> means;
  means.reserve(static_cast<std::size_t>(resampling.resamples));
  for (int i = 0; i < resampling.resamples; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < values.size(); ++k) sum += values[rng.below(values.size())];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  return means;
}

}  // namespace tandem::validation

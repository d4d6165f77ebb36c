// The statistics of a comparison: relative errors, their intervals by resampling, equivalence, agreement
// of rankings, and distances between distributions. Pure numbers; knows nothing of records.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tandem::validation {

/// A quantity, simulated and measured; none where it is missing.
struct BothWorlds {
  std::optional<double> simulated{};
  std::optional<double> measured{};
};

/// (simulated - measured) / measured; 0 when both are 0, NaN when only the measured value is.
double relative_error(double simulated, double measured);

struct Interval {
  double low;
  double high;
};

struct Moments {
  double mean;
  double deviation;  ///< standard deviation of the sample; NaN with fewer than 2 values
};
/// NaN when there are no values.
Moments mean_and_deviation(const std::vector<double>& values);

struct Resampling {
  int resamples = 10'000;
  std::uint64_t seed = 1;
};

/// Values of one run in order of time. Each position holds the sum of some values, for example the steps of
/// several ranks, and their number; the mean of the run is the sum of sums over the sum of counts.
struct Series {
  std::vector<double> sums;
  std::vector<double> counts;
  double mean() const;
};

/// Relative errors of the mean in resamples. Consecutive values depend on each other, so blocks of n^(1/3)
/// positions are drawn (Kuensch 1989), at the same relative positions in simulation and measurement because
/// these are paired; with several measured runs, the runs are drawn too. Empty when there are fewer than 2
/// positions. Pre: `measured` is not empty.
std::vector<double> resampled_errors(const Series& simulated, const std::vector<Series>& measured,
                                     const Resampling& resampling);
/// The same for quantities with one value per run. Empty when there are fewer than 2 measured runs.
std::vector<double> resampled_errors(double simulated, const std::vector<double>& measured,
                                     const Resampling& resampling);
/// Percentile interval that holds the share `level` of the values. None when there are no values.
std::optional<Interval> percentile_interval(const std::vector<double>& values, double level);

/// What two one-sided tests at 5 % say about |error| <= margin (Schuirmann 1987), on the logarithm of
/// simulated / measured: the 90 % interval inside, outside, or across the margins.
enum class Equivalence { equivalent, different, inconclusive };
const char* equivalence_name(Equivalence verdict);
std::optional<Equivalence> equivalence(const std::vector<double>& errors, double margin);

/// How much repetitions differ: the mean over repetitions of |value - mean of the others| / mean of the
/// others. None with fewer than 2 values.
std::optional<double> noise_floor(const std::vector<double>& repetitions);

/// Spearman's rank correlation, ties on mean ranks. None with fewer than 2 pairs, or when all of one side
/// tie.
std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);
/// Pearson's correlation. None with fewer than 3 pairs, or when all of one side tie.
std::optional<double> pearson(const std::vector<double>& a, const std::vector<double>& b);
/// Kendall's tau-b, which allows for ties. None as for spearman().
std::optional<double> kendall(const std::vector<double>& a, const std::vector<double>& b);

/// Kolmogorov's distance: the largest vertical distance between the two empirical distribution functions.
/// Pre: neither is empty.
double kolmogorov_distance(std::vector<double> a, std::vector<double> b);
/// Wasserstein-1: the area between the two empirical distribution functions, in the unit of the values. Pre:
/// neither is empty.
double wasserstein_distance(std::vector<double> a, std::vector<double> b);

/// Means of values drawn with replacement. Empty when there are fewer than 2 values.
std::vector<double> resampled_means(const std::vector<double>& values, const Resampling& resampling);

}  // namespace tandem::validation

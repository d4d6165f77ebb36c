// What the comparisons of all variants of an experiment say together: how far the simulator is off, and
// whether it would have chosen well. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/compare.hpp"

namespace tandem::validation {

/// The runs of one variant in both worlds.
struct VariantResults {
  std::string name;
  Results simulated;
  std::vector<Results> measured;  ///< repetitions
};

/// A variant's place among all, by throughput; 1 is the fastest.
struct RankedVariant {
  std::string name;
  double simulated_throughput;
  double measured_throughput;
  int simulated_place;
  int measured_place;
};

struct Ranking {
  std::vector<RankedVariant> variants;  ///< fastest measured first
  std::optional<double> spearman;       ///< agreement of the two orders; none with one variant
  /// Variants whose measured throughputs are nearer than this tie: repeated runs swap them too.
  static constexpr double tie = 0.03;
  bool same_order = true;  ///< up to ties
  bool same_best = true;
  /// Of the pairs that the two worlds order differently, the largest measured difference: faster / slower
  /// - 1.
  double largest_swapped_gap = 0;
  /// Slowdown from taking the simulator's favourite: measured best throughput / that of the favourite - 1.
  double regret = 0;
};

struct Validation {
  double tolerance = 0.10;
  std::vector<std::string> names;       ///< of the variants, as given
  std::vector<Comparison> comparisons;  ///< one a variant, in that order
  double mape = 0;                      ///< mean over variants of |error of step time|
  double bias = 0;                      ///< mean over variants of the error of step time
  double worst = 0;                     ///< error of step time farthest from 0
  std::string worst_variant;
  Ranking ranking;
  bool gates_hold = true;
  bool passed = false;  ///< the gates hold and `mape` is within the tolerance
  std::string verdict;  ///< one sentence
};

/// Compares each variant and draws the conclusions. `tolerance`: of the mean absolute error of step time.
/// Errors: ConfigError as compare(), and without variants.
Validation validate(const std::vector<VariantResults>& variants, double tolerance = 0.10,
                    const CompareOptions& options = {});

/// The order of variants by throughput in both worlds.
Ranking rank(const std::vector<std::string>& names, const std::vector<double>& simulated,
             const std::vector<double>& measured);

}  // namespace tandem::validation

// Maximum likelihood of lifetime models with censored (also within an interval) and truncated lifetimes, and
// intervals of the parameters. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/lifetimes/estimate/survival.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::lifetimes {

struct FittedParameter {
  std::string name;
  double value;
  double lower;  ///< NaN without interval; 0 where no lower bound was found
  double upper;  ///< the same; infinity where no upper bound was found
};

struct Fitted {
  std::string model;
  std::vector<FittedParameter> parameters;
  double log_likelihood;
  double aic;                                  ///< 2 parameters - 2 log-likelihood; smaller is better
  std::map<std::string, OptionValue> options;  ///< of the model in the catalogue
  std::vector<double> ends;                    ///< of the intervals of `piecewise`
};

/// Pre: `model` is one of `fitted_names()`, and at least one machine died.
Fitted fit(const std::string& model, const std::vector<Observation>& observations);
/// All models whose parameters are fewer than the deaths, the smallest AIC first.
std::vector<Fitted> fit_all(const std::vector<Observation>& observations);

/// Intervals by the profile likelihood, which takes machines as independent. Not for `bathtub`: its longest
/// lifetime depends on its parameters, so that the theory of these intervals does not hold.
void add_profile_intervals(Fitted& fitted, const std::vector<Observation>& observations,
                           double confidence = 0.95);
/// Intervals by drawing whole groups, whose machines may die together, with replacement; percentiles of the
/// `draws` fits. A draw without deaths is drawn again. Pre: a group for each observation.
void add_bootstrap_intervals(Fitted& fitted, const std::vector<Observation>& observations,
                             const std::vector<std::size_t>& groups, int draws, std::uint64_t seed,
                             double confidence = 0.95);

}  // namespace tandem::lifetimes

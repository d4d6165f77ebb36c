// The models that can be fitted, as likelihoods of their parameters. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/lifetimes/estimate/survival.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::lifetimes {

using Values = std::vector<double>;

/// A model with some observations. Parameters are fitted on a scale without bounds.
struct Family {
  struct Parameter {
    std::string name;
    bool is_share =
        false;  ///< from 0 to 1, fitted as its logit; others are positive, fitted as their logarithm
  };
  std::vector<Parameter> parameters;
  /// The logarithm of the likelihood by natural parameters; minus infinity where the observations are
  /// impossible.
  std::function<double(const Values&)> log_likelihood;
  std::vector<Values> starts;  ///< natural parameters
  Values ends = {};            ///< of the intervals of `piecewise`
  /// As the model's options.
  std::function<std::map<std::string, OptionValue>(const Values&)> options;
};

/// "3600,82800", as options of models take numbers.
std::string joined(const Values& values);

/// Names of the models that can be fitted, as in the catalogue of lifetime models.
const std::vector<std::string>& fitted_names();
/// `bathtub` is fitted with at most 0.1 % of the machines dead at age 0. `ends`: those of `piecewise` if they
/// are not to be chosen. Deaths at age 0 count as at half of the shortest other duration. Pre: `name` is one
/// of the fitted names, and at least one machine died; 0 <= entry <= alive_at < duration.
Family family_of(const std::string& name, const std::vector<Observation>& observations,
                 const std::optional<Values>& ends = std::nullopt);

}  // namespace tandem::lifetimes

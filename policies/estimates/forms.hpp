// Closed forms of a time with features such as flops and bytes, fitted to points by relative errors. Pure.
// Source of the additive form: Venkataraman et al.: Ernest. NSDI 2016.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/catalog.hpp"

namespace tandem::estimates {

/// A measured time (s, above 0) with the features that explain it, all finite.
struct FormPoint {
  std::vector<double> features;
  double value;
};

/// A product of powers of scaled features.
struct FormTerm {
  std::vector<int> powers;  ///< by feature
  double coefficient;
};

/// The sum of the terms of the scaled features (feature - least) / span; of a logarithmic form all of
/// logarithms.
struct FittedForm {
  std::string name;
  bool is_logarithmic = false;
  std::vector<double> least, span;  ///< by feature
  std::vector<FormTerm> terms;
  double floor = 0.0;      ///< no time is predicted below this: a tenth of the least that was fitted
  double condition = 1.0;  ///< number of the fitted columns, from below; 1 of a form without a system

  /// Seconds, above 0. Pre: as many features as were fitted; above 0 for a logarithmic form.
  double predict(const std::vector<double>& features) const;
};

/// A form, or why the points do not determine it.
struct FormResult {
  std::optional<FittedForm> fitted;
  std::string reason;
};

using FormFit = FormResult (*)(const std::vector<FormPoint>& points);

/// The simplest first. Each scales by the points that it is given alone. The first is a mean, with which the
/// others are compared.
const Catalog<FormFit>& forms();

}  // namespace tandem::estimates

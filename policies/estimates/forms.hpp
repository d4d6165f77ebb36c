// Closed forms of a time with features such as flops and bytes, fitted to points by relative errors. Pure.
// Source of the additive form: Venkataraman et al.: Ernest. NSDI 2016.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/catalog.hpp"

namespace tandem::estimates {

/// What a layer does in a step.
struct LayerDemand {
  double flops = 0.0, bytes = 0.0;
  double launches = 0.0;  ///< of kernels
};

/// What explains a time.
struct FormInput {
  std::vector<double> features;          ///< finite
  std::vector<LayerDemand> layers = {};  ///< of the whole network; empty: not known
};

struct FormPoint {
  FormInput input;
  double value;            ///< measured time (s), above 0
  std::string group = {};  ///< points of a group resemble each other
};

/// A product of powers of scaled features.
struct FormTerm {
  std::vector<int> powers;  ///< by feature
  double coefficient;
};

/// Adds coefficient x exp(-gamma x squared distance of the scaled features).
struct FormCentre {
  std::vector<double> at;  ///< scaled features
  double coefficient;
};

/// A layer takes the longer time of its flops and bytes, and that of its launches.
struct LayerTimes {
  double flop_s = 0.0, byte_s = 0.0, launch_s = 0.0;
};

/// The sum of the terms and centres of the scaled features (feature - least) / span, and of the layers; of a
/// logarithmic form all of logarithms.
struct FittedForm {
  std::string name;
  bool is_logarithmic = false;
  std::vector<double> least, span;  ///< by feature
  std::vector<FormTerm> terms;
  std::vector<FormCentre> centres = {};
  double gamma = 0.0;  ///< of the centres
  std::optional<LayerTimes> layer_times = {};
  double floor = 0.0;      ///< no time is predicted below this: a tenth of the least that was fitted
  double condition = 1.0;  ///< number of the fitted columns, from below; 1 of a form without a system

  /// Seconds, above 0. Pre: as many features as were fitted, above 0 for a logarithmic form; layers for a
  /// form of layers.
  double predict(const FormInput& input) const;
};

/// A form, or why the points do not determine it.
struct FormResult {
  std::optional<FittedForm> fitted;
  std::string reason;
};

using FormFit = FormResult (*)(const std::vector<FormPoint>& points);

/// The simplest first. Each scales and searches with the points that it is given alone. The first is a mean,
/// with which the others are compared.
const Catalog<FormFit>& forms();

}  // namespace tandem::estimates

// The lifetime models, one file each, and their common parts. Other code finds them in the catalogue.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policies/lifetimes/catalog.hpp"
#include "policies/lifetimes/fates.hpp"
#include "policies/lifetimes/lifetime.hpp"

namespace tandem::lifetimes {

using Entry = Catalog<Factory>::Entry;

Entry bathtub();
Entry capacity_trace();
Entry early_death();
Entry empirical();
Entry exponential();
Entry fixed();
Entry markov();
Entry never();
Entry piecewise();
Entry shocks();
Entry states();
Entry trace();
Entry weibull();

/// An option that is a positive number of seconds.
OptionSpec seconds_option(const std::string& name, const std::string& summary, double default_value);
/// The numbers of a text such as "100, 200, 1e6". Errors: OptionError unless all are numbers from `least` to
/// `most`; if `most` is infinity, "inf" is allowed.
std::vector<double> numbers_of(const std::string& owner, const std::string& option, const std::string& text,
                               double least = 0.0, double most = std::numeric_limits<double>::max());
/// Errors: OptionError unless the values increase strictly.
void expect_increasing(const std::string& owner, const std::string& option,
                       const std::vector<double>& values);
/// The x between `low` and `high` at which the decreasing function is `target`, to the last digits.
template <class Function>
double solve_decreasing(const Function& function, double target, double low, double high) {
  while (true) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return high;
    (function(middle) > target ? low : high) = middle;
  }
}

template <class Model>
std::unique_ptr<Lifetime> make_lifetime_of(const Options& options) {
  return std::make_unique<Model>(options);
}
template <class Model>
std::unique_ptr<Fates> make_fates_of(const FatesSetting& setting) {
  return std::make_unique<Model>(setting);
}

}  // namespace tandem::lifetimes

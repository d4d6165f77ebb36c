#include "policies/lifetimes/lifetime.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"

namespace tandem::lifetimes {
namespace {

double alive(const Lifetime& lifetime, double age) {
  const double survival = lifetime.survival(age);
  TANDEM_CHECK(survival > 0.0, "age", age);
  return survival;
}

}  // namespace

double Lifetime::draw(Rng& rng, double) const { return time_of_survival(1.0 - rng.uniform()); }

double Lifetime::survival_given(double age, double t) const { return survival(age + t) / alive(*this, age); }

double Lifetime::quantile_given(double age, double p) const {
  return std::max(0.0, time_of_survival((1.0 - p) * alive(*this, age)) - age);
}

double Lifetime::draw_given(double age, Rng& rng) const { return quantile_given(age, rng.uniform()); }

double Lifetime::mean_up_to_given(double age, double limit) const {
  return area(age, age + limit) / alive(*this, age);
}

}  // namespace tandem::lifetimes

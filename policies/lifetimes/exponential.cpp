// A constant hazard: the remaining time does not depend on the age.
#include <cmath>

#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

class Exponential final : public Lifetime {
 public:
  explicit Exponential(const Options& options) : mean_(options.real("mean")) {}
  double survival(double t) const override { return std::exp(-t / mean_); }
  double hazard(double) const override { return 1.0 / mean_; }
  double time_of_survival(double s) const override { return -mean_ * std::log(s); }
  double area(double from, double to) const override { return mean_ * (survival(from) - survival(to)); }

 private:
  double mean_;
};

}  // namespace

Entry exponential() {
  return {.name = "exponential",
          .summary = "constant hazard: S(t) = e^(-t/mean)",
          .paper = "",
          .options = {seconds_option("mean", "mean lifetime in seconds", 86400.0)},
          .make = {.lifetime = make_lifetime_of<Exponential>}};
}

}  // namespace tandem::lifetimes

// A hazard that falls (shape below 1: young machines die first) or rises (above 1) as a power of age.
#include <cmath>

#include "policies/lifetimes/incomplete_gamma.hpp"
#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

class Weibull final : public Lifetime {
 public:
  explicit Weibull(const Options& options) : shape_(options.real("shape")), scale_(options.real("scale")) {}
  double survival(double t) const override { return std::exp(-cumulative(t)); }
  /// Infinite at age 0 for shapes below 1.
  double hazard(double t) const override { return shape_ / scale_ * std::pow(t / scale_, shape_ - 1.0); }
  double time_of_survival(double s) const override { return scale_ * std::pow(-std::log(s), 1.0 / shape_); }
  /// By substitution of u = (t/scale)^shape.
  double area(double from, double to) const override {
    const double a = 1.0 / shape_;
    const double x = cumulative(from), y = cumulative(to);
    return scale_ * std::tgamma(1.0 + a) * gamma_between(a, x, y);
  }

 private:
  double cumulative(double t) const { return std::pow(t / scale_, shape_); }
  double shape_;
  double scale_;
};

}  // namespace

Entry weibull() {
  return {.name = "weibull",
          .summary = "S(t) = e^(-(t/scale)^shape); below shape 1 young machines die first",
          .paper = "",
          .options = {{"shape", "1: as exponential", 0.7, 0.05, 50.0},
                      seconds_option("scale", "time in seconds at which a share 1/e is alive", 86400.0)},
          .make = {.lifetime = make_lifetime_of<Weibull>}};
}

}  // namespace tandem::lifetimes

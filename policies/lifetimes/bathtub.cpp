// Early deaths, a calm time, and a steep rise of the hazard near the provider's limit.
#include <algorithm>
#include <cmath>

#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

class Bathtub final : public Lifetime {
 public:
  explicit Bathtub(const Options& options)
      : a_(options.real("a")),
        early_(options.real("tau1")),
        late_(options.real("tau2")),
        wall_(options.real("b")),
        end_(solve_decreasing([this](double t) { return unclipped(t); }, 0.0, 0.0,
                              std::max(0.0, wall_ - late_ * std::log(a_)))) {}

  double survival(double t) const override { return t < end_ ? std::clamp(unclipped(t), 0.0, 1.0) : 0.0; }
  double hazard(double t) const override {
    const double alive = survival(t);
    const double rate = a_ * (std::exp(-t / early_) / early_ + std::exp((t - wall_) / late_) / late_);
    return alive > 0.0 ? rate / alive : infinity;
  }
  double time_of_survival(double s) const override {
    if (s >= survival(0.0)) return 0.0;
    if (s <= 0.0) return end_;
    return solve_decreasing([this](double t) { return unclipped(t); }, s, 0.0, end_);
  }
  double area(double from, double to) const override {
    const double begin = std::min(from, end_), end = std::min(to, end_);
    const double early = early_ * (std::exp(-begin / early_) - std::exp(-end / early_));
    const double late = late_ * (std::exp((end - wall_) / late_) - std::exp((begin - wall_) / late_));
    return (1.0 - a_) * (end - begin) + a_ * (early - late);
  }

 private:
  double unclipped(double t) const {
    return 1.0 - a_ * (1.0 - std::exp(-t / early_) + std::exp((t - wall_) / late_));
  }
  double a_;
  double early_;
  double late_;
  double wall_;
  double end_;  ///< from here on no machine is alive
};

}  // namespace

Entry bathtub() {
  return {.name = "bathtub",
          .summary = "S(t) = 1 - a (1 - e^(-t/tau1) + e^((t-b)/tau2)): early deaths, calm, a wall near b",
          .paper =
              "Kadupitiya, Jadhao, Sharma: Modeling The Temporally Constrained Preemptions of Transient "
              "Cloud VMs. HPDC 2020",
          .options = {{"a", "scale of both parts", 0.45, 1e-9, 1.0},
                      seconds_option("tau1", "time constant of early deaths in seconds", 3600.0),
                      seconds_option("tau2", "time constant of the rise near b in seconds", 2880.0),
                      seconds_option("b", "age of the wall in seconds", 86400.0)},
          .make = {.lifetime = make_lifetime_of<Bathtub>}};
}

}  // namespace tandem::lifetimes

// A mixture of two exponentials: some machines are bad from the start and die early.
#include <algorithm>
#include <cmath>

#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

class EarlyDeath final : public Lifetime {
 public:
  explicit EarlyDeath(const Options& options)
      : share_(options.real("share")), early_(options.real("early_mean")), mean_(options.real("mean")) {}

  double survival(double t) const override { return early(t) + late(t); }
  double hazard(double t) const override {
    // As shares of the larger part, because both vanish at high ages.
    const double difference = t / early_ - t / mean_;
    const double of_early = share_ * std::exp(std::min(0.0, -difference));
    const double of_late = (1.0 - share_) * std::exp(std::min(0.0, difference));
    if (of_early + of_late <= 0.0) return 1.0 / (share_ > 0.0 ? early_ : mean_);
    return (of_early / early_ + of_late / mean_) / (of_early + of_late);
  }
  double time_of_survival(double s) const override {
    if (s >= 1.0) return 0.0;
    if (s <= 0.0) return infinity;
    const double high = -std::log(s) * std::max(early_, mean_);
    return solve_decreasing([this](double t) { return survival(t); }, s, 0.0, high);
  }
  double area(double from, double to) const override {
    return early_ * (early(from) - early(to)) + mean_ * (late(from) - late(to));
  }

 private:
  double early(double t) const { return share_ * std::exp(-t / early_); }
  double late(double t) const { return (1.0 - share_) * std::exp(-t / mean_); }
  double share_;
  double early_;
  double mean_;
};

}  // namespace

Entry early_death() {
  return {.name = "early-death",
          .summary = "mixture: S(t) = share e^(-t/early_mean) + (1 - share) e^(-t/mean)",
          .paper = "",
          .options = {{"share", "share of the machines that are bad from the start", 0.2, 0.0, 1.0},
                      seconds_option("early_mean", "mean lifetime of these in seconds", 3600.0),
                      seconds_option("mean", "mean lifetime of the others in seconds", 86400.0)},
          .make = {.lifetime = make_lifetime_of<EarlyDeath>}};
}

}  // namespace tandem::lifetimes

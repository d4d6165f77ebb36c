// The steps of a Kaplan-Meier estimate, as `tandem fit lifetimes` writes them, and a tail of constant hazard.
#include <algorithm>
#include <cmath>

#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

class Empirical final : public Lifetime {
 public:
  explicit Empirical(const Options& options)
      : times_(numbers_of("empirical", "times", options.text("times"))),
        survivals_(numbers_of("empirical", "survival", options.text("survival"))),
        tail_rate_(options.real("tail_rate")),
        tail_from_(std::max(options.real("tail_from"), times_.empty() ? 0.0 : times_.back())) {
    expect_increasing("empirical", "times", times_);
    if (survivals_.size() != times_.size())
      throw OptionError("empirical", "survival",
                        "as many numbers as `times` has, " + std::to_string(times_.size()),
                        std::to_string(survivals_.size()) + " numbers");
    double before = 1.0;
    for (const double survival : survivals_) {
      if (survival > before)
        throw OptionError("empirical", "survival",
                          "numbers from 1 to 0 that do not increase, so at most " + to_text(before),
                          survival);
      before = survival;
    }
  }

  double survival(double t) const override {
    const double step = step_before(std::ranges::upper_bound(times_, t) - times_.begin());
    return t <= tail_from_ ? step : step * std::exp(-tail_rate_ * (t - tail_from_));
  }
  /// Between two steps their mean hazard, because steps have none; after the last one that of the tail.
  double hazard(double t) const override {
    if (survival(t) <= 0.0) return infinity;
    const auto after = std::ranges::upper_bound(times_, t) - times_.begin();
    if (after == std::ssize(times_)) return t < tail_from_ ? 0.0 : tail_rate_;
    const auto index = static_cast<std::size_t>(after);
    const double begin = after == 0 ? 0.0 : times_[index - 1];
    return std::log(step_before(after) / survivals_[index]) / (times_[index] - begin);
  }
  double time_of_survival(double s) const override {
    if (s >= 1.0) return 0.0;
    const auto step = std::ranges::find_if(survivals_, [s](double survival) { return survival <= s; });
    if (step != survivals_.end()) return times_[static_cast<std::size_t>(step - survivals_.begin())];
    if (tail_rate_ <= 0.0) return infinity;
    return tail_from_ + std::log(step_before(std::ssize(times_)) / s) / tail_rate_;
  }
  double area(double from, double to) const override {
    double sum = 0.0;
    double at = from;
    for (auto step = std::ranges::upper_bound(times_, from) - times_.begin(); at < to; ++step) {
      const bool is_last = step == std::ssize(times_);
      const double end =
          std::min(to, is_last ? std::max(at, tail_from_) : times_[static_cast<std::size_t>(step)]);
      sum += step_before(step) * (end - at);
      at = end;
      if (is_last) return sum + tail_area(at, to);
    }
    return sum;
  }

 private:
  /// The survival before the step with this index.
  double step_before(std::ptrdiff_t index) const {
    return index == 0 ? 1.0 : survivals_[static_cast<std::size_t>(index - 1)];
  }
  /// Pre: from >= tail_from_, or the interval is empty.
  double tail_area(double from, double to) const {
    const double alive = survival(from);
    if (alive <= 0.0 || from >= to) return 0.0;
    if (tail_rate_ <= 0.0) return alive * (to - from);
    return -alive * std::expm1(-tail_rate_ * (to - from)) / tail_rate_;
  }

  std::vector<double> times_;
  std::vector<double> survivals_;  ///< from each time on
  double tail_rate_;
  double tail_from_;
};

}  // namespace

Entry empirical() {
  return {.name = "empirical",
          .summary = "steps of a Kaplan-Meier estimate; beyond the last observation a constant hazard",
          .paper = "Kaplan, Meier: Nonparametric Estimation from Incomplete Observations. JASA 1958",
          .options = {{"times", "times of the steps in seconds, increasing, separated by commas",
                       std::string("3600,86400")},
                      {"survival", "share alive from each of these times on", std::string("0.9,0.5")},
                      {"tail_from", "age of the last observation in seconds, if after the last step", 0.0,
                       0.0, 1e18},
                      {"tail_rate", "hazard per second from then on; 0: nobody departs before the limit", 0.0,
                       0.0, 1e9}},
          .make = {.lifetime = make_lifetime_of<Empirical>}};
}

}  // namespace tandem::lifetimes

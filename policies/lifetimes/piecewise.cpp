// A hazard that is constant in each interval of age, times a factor for the hour of the day.
#include <algorithm>
#include <cmath>

#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

constexpr double hour = 3600.0;
constexpr double day = 24.0 * hour;

class Piecewise final : public Lifetime {
 public:
  explicit Piecewise(const Options& options)
      : ends_(numbers_of("piecewise", "ends", options.text("ends"))),
        rates_(numbers_of("piecewise", "rates", options.text("rates"))),
        factors_(numbers_of("piecewise", "by_hour", options.text("by_hour"))),
        start_(options.real("start_hour") * hour) {
    expect_increasing("piecewise", "ends", ends_);
    if (!ends_.empty() && ends_.front() <= 0.0)
      throw OptionError("piecewise", "ends", "ages above 0", ends_.front());
    if (rates_.size() != ends_.size() + 1)
      throw OptionError("piecewise", "rates",
                        "one more than `ends` has, so " + std::to_string(ends_.size() + 1) + " numbers",
                        std::to_string(rates_.size()) + " numbers");
    if (!factors_.empty() && factors_.size() != 24)
      throw OptionError("piecewise", "by_hour", "24 numbers, or none",
                        std::to_string(factors_.size()) + " numbers");
  }

  double survival(double t) const override { return std::exp(-cumulative(t)); }
  double hazard(double t) const override { return at(t, start_).rate; }
  double time_of_survival(double s) const override { return time_of_cumulative(-std::log(s), start_); }
  double area(double from, double to) const override {
    double sum = 0.0;
    double age = from, alive = survival(from);
    while (age < to) {
      const Piece piece = at(age, start_);
      // The rest repeats every day.
      if (piece.repeats && to - age > day) {
        const auto [of_day, left] = area_of(age, age + day, alive);
        const double days = std::floor((to - age) / day), share = left / alive;
        if (std::isinf(days)) return sum + (share < 1.0 ? of_day / (1.0 - share) : infinity);
        const double passed = std::pow(share, days);
        sum += share < 1.0 ? of_day * (1.0 - passed) / (1.0 - share) : of_day * days;
        alive *= passed;
        age += days * day;
        continue;
      }
      const auto [of_piece, left] = area_of(age, std::min(to, piece.end), alive);
      sum += of_piece;
      if (left <= 0.0) return sum;
      alive = left;
      age = std::min(to, piece.end);
    }
    return sum;
  }
  double draw(Rng& rng, double start) const override {
    return time_of_cumulative(-std::log(1.0 - rng.uniform()), start_ + start);
  }

 private:
  struct Piece {
    double rate;
    double end;    ///< age until which the rate is constant
    bool repeats;  ///< only the hour changes it from now on
  };

  /// The piece of a machine of this age that started at this time of the clock.
  Piece at(double age, double start) const {
    const auto interval = static_cast<std::size_t>(std::ranges::upper_bound(ends_, age) - ends_.begin());
    const bool is_last = interval == ends_.size();
    const double end = is_last ? infinity : ends_[interval];
    if (factors_.empty()) return {rates_[interval], end, false};
    // The hour's end is the next age at which the clock shows a whole hour.
    const double hours = std::floor((start + age) / hour);
    double hour_end = (hours + 1.0) * hour - start;
    std::size_t of_day = static_cast<std::size_t>(std::fmod(hours, 24.0));
    if (hour_end <= age) {  // rounded: the hour is over
      hour_end += hour;
      of_day = (of_day + 1) % 24;
    }
    return {rates_[interval] * factors_[of_day], std::min(end, hour_end), is_last};
  }

  /// The integral of the hazard over one day of the clock from an age on.
  double cumulative_of_day(double age, double start) const {
    double sum = 0.0;
    for (double from = age; from < age + day;) {
      const Piece piece = at(from, start);
      const double end = std::min(piece.end, age + day);
      sum += piece.rate * (end - from);
      from = end;
    }
    return sum;
  }
  double cumulative(double t) const {
    if (std::isinf(t)) return rates_.back() > 0.0 ? infinity : cumulative(ends_.empty() ? 0.0 : ends_.back());
    double sum = 0.0;
    for (double age = 0.0; age < t;) {
      const Piece piece = at(age, start_);
      if (piece.repeats && t - age > day) {
        const double days = std::floor((t - age) / day);
        sum += days * cumulative_of_day(age, start_);
        age += days * day;
        continue;
      }
      const double end = std::min(piece.end, t);
      sum += piece.rate * (end - age);
      age = end;
    }
    return sum;
  }
  /// The first age at which the integral of the hazard is `target`.
  double time_of_cumulative(double target, double start) const {
    if (target <= 0.0) return 0.0;
    if (std::isinf(target)) return infinity;
    double sum = 0.0;
    for (double age = 0.0;;) {
      const Piece piece = at(age, start);
      if (piece.repeats) {
        const double of_day = cumulative_of_day(age, start);
        if (of_day <= 0.0) return infinity;
        const double days = std::max(0.0, std::ceil((target - sum) / of_day) - 1.0);
        sum += days * of_day;
        age += days * day;
        if (days > 0.0) continue;
      }
      const double needed = piece.rate > 0.0 ? (target - sum) / piece.rate : infinity;
      if (age + needed <= piece.end) return age + needed;
      if (std::isinf(piece.end)) return infinity;
      sum += piece.rate * (piece.end - age);
      age = piece.end;
    }
  }
  /// The area below S while the rate changes by the hour only, and S at the end, given S at the beginning.
  std::pair<double, double> area_of(double from, double to, double alive) const {
    double sum = 0.0;
    while (from < to) {
      const Piece piece = at(from, start_);
      const double end = std::min(to, piece.end), length = end - from;
      const double died = piece.rate > 0.0 ? -std::expm1(-piece.rate * length) : 0.0;
      sum += alive * (piece.rate > 0.0 ? died / piece.rate : length);
      alive *= 1.0 - died;
      from = end;
    }
    return {sum, alive};
  }

  std::vector<double> ends_;
  std::vector<double> rates_;
  std::vector<double> factors_;  ///< by hour of the day; empty: all 1
  double start_;                 ///< seconds since midnight
};

}  // namespace

Entry piecewise() {
  return {
      .name = "piecewise",
      .summary = "constant hazard in each interval of age, times a factor by the hour of the day",
      .paper = "",
      .options = {{"ends", "ages in seconds at which intervals end, increasing; the last interval has none",
                   std::string("3600,82800")},
                  {"rates", "hazard per second in each interval", std::string("3e-5,5e-6,2e-4")},
                  {"by_hour", "24 factors of the hazard by the hour of the day; empty: all 1", std::string()},
                  {"start_hour", "hour of the day at which the job starts", 0.0, 0.0, 24.0}},
      .make = {.lifetime = make_lifetime_of<Piecewise>}};
}

}  // namespace tandem::lifetimes

// Requests a machine only where its work is worth more than its price: with the value V of an hour of a
// machine's work, speed v, price p, start B, and the time L until its expected death or the expected end of
// the job, if V v L > p (B + L). A machine that would start shortly before the end is not requested.
#include <algorithm>
#include <limits>

#include "policies/provisioning/learning_policy.hpp"
#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class ExpectedValue final : public LearningPolicy {
 public:
  explicit ExpectedValue(const Setting& setting)
      : LearningPolicy(setting),
        value_(setting.options.real("value_per_hour")),
        start_h_(setting.options.real("start_s") / 3600.0),
        end_h_(setting.options.real("end_s") / 3600.0) {}

  double cost(std::size_t slot, Seconds now) const override {
    const double works_h = hours_of_work(slot, now), paid_h = start_h_ + works_h;
    return paid_h > 0.0 ? -gain(slot, works_h) / paid_h : 0.0;
  }

  Seconds earliest(std::size_t slot, Seconds now) const override {
    return gain(slot, hours_of_work(slot, now)) > 0.0 ? now
                                                      : Seconds(std::numeric_limits<double>::infinity());
  }

 private:
  double hours_of_work(std::size_t slot, Seconds now) const {
    constexpr double longest_h = 24.0 * 365.0;  // of machines that stay, in a job without a known end
    const double left_h = end_h_ > 0.0 ? end_h_ - hours(now) - start_h_ : longest_h;
    return std::max(0.0, std::min({hours_of_life(slot, now), left_h, longest_h}));
  }
  /// Dollars, beyond the price.
  double gain(std::size_t slot, double works_h) const {
    return value_ * machine(slot).speed * works_h - machine(slot).price_per_hour * (start_h_ + works_h);
  }

  double value_;
  double start_h_;
  double end_h_;  ///< of the job, since its begin; 0: not known
};

}  // namespace

Entry expected_value() {
  std::vector<OptionSpec> options = {
      {.name = "value_per_hour",
       .summary = "dollars that an hour of work of a machine is worth",
       .default_value = 1.0,
       .minimum = 0.0,
       .maximum = 1e6},
      {.name = "start_s",
       .summary = "time for which a machine is paid before it works",
       .default_value = 300.0,
       .minimum = 0.0,
       .maximum = 1e9},
      {.name = "end_s",
       .summary =
           "expected end of the job after its begin, after which machines are worth nothing; 0: not known",
       .default_value = 0.0,
       .minimum = 0.0,
       .maximum = 1e9}};
  for (auto& option : prior_options()) options.push_back(std::move(option));
  return {
      .name = "expected-value",
      .summary =
          "where the work until a machine's expected death, or the end of the job, is worth most beyond its "
          "price; nowhere, if it is worth less",
      .paper = "",
      .options = std::move(options),
      .make = make_policy<ExpectedValue>};
}

}  // namespace tandem::provisioning

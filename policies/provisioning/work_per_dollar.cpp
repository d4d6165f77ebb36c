// Requests machines where a dollar buys the most work. A machine is paid while it starts and works until it
// dies: with price p, start B, expected life L and speed v, a dollar buys v L / (p (B + L)).
#include <cmath>

#include "policies/provisioning/learning_policy.hpp"
#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class WorkPerDollar final : public LearningPolicy {
 public:
  explicit WorkPerDollar(const Setting& setting)
      : LearningPolicy(setting), start_h_(setting.options.real("start_s") / 3600.0) {}

  /// Dollars for an hour of work.
  double cost(std::size_t slot, Seconds now) const override {
    const double life_h = hours_of_life(slot, now);
    const double paid = std::isinf(life_h) ? 1.0 : (start_h_ + life_h) / life_h;
    return machine(slot).price_per_hour * paid / machine(slot).speed;
  }

 private:
  double start_h_;
};

}  // namespace

Entry work_per_dollar() {
  std::vector<OptionSpec> options = {{.name = "start_s",
                                      .summary = "time for which a machine is paid before it works",
                                      .default_value = 300.0,
                                      .minimum = 0.0,
                                      .maximum = 1e9}};
  for (auto& option : prior_options()) options.push_back(std::move(option));
  return {.name = "work-per-dollar",
          .summary = "where a dollar buys the most work, with the start and the expected life of machines",
          .paper =
              "Harlap, Tumanov, Chung, Ganger, Gibbons: Proteus: agile ML elasticity through tiered "
              "reliability in dynamic resource markets. EuroSys 2017; its expected cost of work",
          .options = std::move(options),
          .make = make_policy<WorkPerDollar>};
}

}  // namespace tandem::provisioning

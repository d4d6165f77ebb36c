#include "policies/sync/local_steps/outer.hpp"

#include "policies/sync/common/change_average.hpp"

namespace tandem::sync {

std::vector<OptionSpec> outer_options(const OuterDefaults& defaults) {
  OptionSpec weights = weights_option();
  weights.default_value = defaults.weights;
  return {
      {.name = "h", .summary = "local steps of a round", .default_value = defaults.h, .minimum = 1},
      {.name = "outer_rate",
       .summary = "factor on the outer step; SlowMo's alpha",
       .default_value = defaults.rate,
       .minimum = 0.0},
      {.name = "outer_momentum",
       .summary = "share of the last outer step that goes on; SlowMo's beta",
       .default_value = defaults.momentum,
       .minimum = 0.0,
       .maximum = 0.9999},
      {.name = "nesterov", .summary = "the outer momentum is Nesterov's", .default_value = defaults.nesterov},
      weights};
}

UpdateRule outer_update(const Setting& setting) {
  return OuterMomentum{.rate = setting.options.real("outer_rate"),
                       .momentum = setting.options.real("outer_momentum"),
                       .nesterov = setting.options.boolean("nesterov")};
}

UpdateRule slowmo_update(const Setting& setting) {
  auto rule = std::get<OuterMomentum>(outer_update(setting));
  rule.follows_learning_rate = true;
  return rule;
}

}  // namespace tandem::sync

// The list of provisioning policies, in the order in which `tandem list provisioning` prints them.
#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table(
      "provisioning policy", {same(), other_zone(), longest_living(), diversify(), tiers(), cheapest(),
                              work_per_dollar(), expected_value(), mixture(), deadline()});
  return table;
}

bool asks_for_prices(const std::string& name, const Options& options) {
  if (name == "diversify") return options.real("enough") > 0.0;
  return name == "cheapest" || name == "work-per-dollar" || name == "expected-value";
}

bool asks_for_machines(const std::string& name, const Options& options) {
  return asks_for_prices(name, options) || name == "mixture" || name == "deadline";
}

}  // namespace tandem::provisioning

// Requests machines where they live longest, by the job's observations.
#include <string>

#include "policies/provisioning/learning_policy.hpp"
#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class LongestLiving final : public LearningPolicy {
 public:
  explicit LongestLiving(const Setting& setting)
      : LearningPolicy(setting, setting.options.text("of") == "slot") {}

  /// Deaths per hour of machines, as expected.
  double cost(std::size_t slot, Seconds now) const override { return deaths_per_hour(slot, now); }
};

}  // namespace

Entry longest_living() {
  std::vector<OptionSpec> options = {{.name = "of",
                                      .summary = "where deaths and hours are counted together",
                                      .default_value = std::string("zone"),
                                      .choices = {"zone", "slot"}}};
  for (auto& option : prior_options()) options.push_back(std::move(option));
  return {.name = "longest-living",
          .summary =
              "where the least deaths per hour of machine are expected: (prior_deaths + deaths) / "
              "(prior_hours + hours)",
          .paper = "",
          .options = std::move(options),
          .make = make_policy<LongestLiving>};
}

}  // namespace tandem::provisioning

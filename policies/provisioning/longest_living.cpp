// Requests machines where they live longest, by the job's observations. Lifetimes are taken as exponential
// with a rate for each zone (or slot) whose prior is Gamma(a, b). After d deaths in h hours of machines, the
// posterior is Gamma(a + d, b + h), and its mean the expected rate.
#include <string>
#include <utility>

#include "policies/provisioning/policies.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::provisioning {
namespace {

class LongestLiving final : public Policy {
 public:
  explicit LongestLiving(const Setting& setting)
      : Policy(setting),
        by_slot_(setting.options.text("of") == "slot"),
        prior_deaths_(setting.options.real("prior_deaths")),
        hour_s_(3600.0 / setting.time_scale),
        prior_hours_(setting.options.real("prior_hours")),
        deaths_(by_slot_ ? slot_count() : zone_count(), 0) {}

  /// Deaths per hour of machines, as expected.
  double cost(std::size_t slot, Seconds now) const override {
    double hours = 0.0;
    for (std::size_t other = 0; other < slot_count(); ++other)
      if (group(other) == group(slot)) hours += occupied(other, now).count() / hour_s_;
    return (prior_deaths_ + static_cast<double>(deaths_[group(slot)])) / (prior_hours_ + hours);
  }

  void serialise(PolicyState& state) override {
    Policy::serialise(state);
    std::vector<std::uint64_t> deaths = deaths_;
    state.list("deaths", deaths);
    if (deaths.size() != deaths_.size())
      throw ConfigError("policy state: expected " + std::to_string(deaths_.size()) + " 'deaths'");
    deaths_ = std::move(deaths);
  }

 protected:
  void died(std::size_t slot, Seconds, Seconds) override { ++deaths_[group(slot)]; }

 private:
  std::size_t group(std::size_t slot) const { return by_slot_ ? slot : zone(slot); }

  bool by_slot_;
  double prior_deaths_;
  double hour_s_;  ///< of machines, in seconds of the job
  double prior_hours_;
  std::vector<std::uint64_t> deaths_;  ///< of each zone or slot
};

}  // namespace

Entry longest_living() {
  return {.name = "longest-living",
          .summary =
              "where the least deaths per hour of machine are expected: (prior_deaths + deaths) / "
              "(prior_hours + hours)",
          .paper = "",
          .options = {{.name = "of",
                       .summary = "where deaths and hours are counted together",
                       .default_value = std::string("zone"),
                       .choices = {"zone", "slot"}},
                      {.name = "prior_deaths",
                       .summary = "deaths that count as seen before the job",
                       .default_value = 1.0,
                       .minimum = 1e-6,
                       .maximum = 1e6},
                      {.name = "prior_hours",
                       .summary = "hours of machines in which they count as seen",
                       .default_value = 24.0,
                       .minimum = 1e-6,
                       .maximum = 1e6}},
          .make = make_policy<LongestLiving>};
}

}  // namespace tandem::provisioning

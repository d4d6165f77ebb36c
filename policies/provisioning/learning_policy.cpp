#include "policies/provisioning/learning_policy.hpp"

#include <limits>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::provisioning {

LearningPolicy::LearningPolicy(const Setting& setting, bool by_slot)
    : Policy(setting),
      by_slot_(by_slot),
      prior_deaths_(setting.options.real("prior_deaths")),
      hour_s_(3600.0 / setting.time_scale),
      prior_hours_(setting.options.real("prior_hours")),
      deaths_(by_slot_ ? slot_count() : zone_count(), 0) {}

double LearningPolicy::deaths_per_hour(std::size_t slot, Seconds now) const {
  double hours = 0.0;
  for (std::size_t other = 0; other < slot_count(); ++other)
    if (group(other) == group(slot)) hours += occupied(other, now).count() / hour_s_;
  return (prior_deaths_ + static_cast<double>(deaths_[group(slot)])) / (prior_hours_ + hours);
}

double LearningPolicy::hours_of_life(std::size_t slot, Seconds now) const {
  return machine(slot).stays ? std::numeric_limits<double>::infinity() : 1.0 / deaths_per_hour(slot, now);
}

void LearningPolicy::died(std::size_t slot, Seconds, Seconds) { ++deaths_[group(slot)]; }

void LearningPolicy::serialise(PolicyState& state) {
  Policy::serialise(state);
  std::vector<std::uint64_t> deaths = deaths_;
  state.list("deaths", deaths);
  if (deaths.size() != deaths_.size())
    throw ConfigError("policy state: expected " + std::to_string(deaths_.size()) + " 'deaths'");
  deaths_ = std::move(deaths);
}

std::vector<OptionSpec> prior_options() {
  return {{.name = "prior_deaths",
           .summary = "deaths that count as seen before the job",
           .default_value = 1.0,
           .minimum = 1e-6,
           .maximum = 1e6},
          {.name = "prior_hours",
           .summary = "hours of machines in which they count as seen",
           .default_value = 24.0,
           .minimum = 1e-6,
           .maximum = 1e6}};
}

}  // namespace tandem::provisioning

// Deaths of machines that a job has seen, by zone or slot. Lifetimes are taken as exponential with a rate for
// each group whose prior is Gamma(a, b). After d deaths in h hours of machines, the posterior is
// Gamma(a + d, b + h), and its mean the expected rate.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/provisioning/policy.hpp"

namespace tandem::provisioning {

class LearningPolicy : public Policy {
 public:
  void serialise(PolicyState& state) override;

 protected:
  /// With the options of prior_options(). `by_slot`: a group is a slot, else a zone.
  explicit LearningPolicy(const Setting& setting, bool by_slot = false);
  void died(std::size_t slot, Seconds age, Seconds now) override;

  /// Expected, of a machine in the slot.
  double deaths_per_hour(std::size_t slot, Seconds now) const;
  /// Expected, in hours of machines; infinite where they stay.
  double hours_of_life(std::size_t slot, Seconds now) const;
  /// Hours of machines in a time of the job.
  double hours(Seconds time) const { return time.count() / hour_s_; }

 private:
  std::size_t group(std::size_t slot) const { return by_slot_ ? slot : zone(slot); }

  bool by_slot_;
  double prior_deaths_;
  double hour_s_;  ///< of machines, in seconds of the job
  double prior_hours_;
  std::vector<std::uint64_t> deaths_;  ///< of each zone or slot
};

/// `prior_deaths` and `prior_hours`.
std::vector<OptionSpec> prior_options();

}  // namespace tandem::provisioning

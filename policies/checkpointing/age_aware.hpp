// The interval to the next commit, where the failure rate of machines depends on their age. Numerical, for
// any distribution of lifetimes.
#pragma once

#include <optional>
#include <vector>

#include "policies/checkpointing/policy.hpp"

namespace tandem::checkpointing {

struct AgedMachine {
  const CumulativeHazard* hazard = nullptr;  ///< must outlive the call
  double age_s = 0.0;
};

/// The work until the next commit. It is optimal for the mean failure rate of the job during that work and
/// its commit, given the ages of the machines, any of which stops the job: the shortest w with w =
/// optimal_interval(C, (w + C) / expected failures within w + C). For constant rates it is optimal_interval.
/// Where rates fall with age, intervals grow. Where no machine lives beyond a limit, the commit ends before
/// it. To first order it minimises the expected share of time lost, C / w + rate w / 2, for rates that
/// change little during a segment. None: no commit is planned, because hardly any failure can strike. 0:
/// commits cost nothing, or a machine cannot live until the end of a commit. Pre: cost finite and >= 0; ages
/// >= 0, at least one. Source: local intervals sqrt(2 C / rate) as in Ling, Mi, Lin, "A variational calculus
/// approach to optimal checkpoint placement", IEEE Trans. Computers 50(7), 2001; the implicit form is ours.
std::optional<Seconds> age_aware_interval(std::vector<AgedMachine> machines, Seconds cost);

}  // namespace tandem::checkpointing

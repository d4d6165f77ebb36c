// The fates of the machines of a job: the experiment's lifetime model for those of workers, and what hosts of
// the platform file say of their own.
#pragma once

#include <memory>
#include <string>

#include "policies/lifetimes/fates.hpp"
#include "workloads/job/job.hpp"

namespace tandem {

/// The fates of the machines by slot: those of workers, then the needed machines. A host's <prop
/// id="tandem:lifetime" value="weibull shape=0.5 scale=6h"/> replaces key transience.lifetime for its
/// machines; the key's options, and `limit`, are not theirs. With the option by_host, machines on other hosts
/// have the model of their group. Errors: ConfigError naming the host, what was
/// expected and found.
std::unique_ptr<lifetimes::Fates> fates_of(const Job& job);

/// The models by properties of hosts (option by_host of the lifetime model); empty: all have the same.
std::string groups_of_hosts(const Experiment::Transience& transience);

/// The name of the model that the host of a rank has of its own; empty: it has none.
std::string lifetime_model_of(const Job& job, Rank rank);

}  // namespace tandem

// The fates of the machines of a job: the experiment's lifetime model for those of workers, and what hosts of
// the platform file say of their own.
#pragma once

#include <cstdint>
#include <memory>

#include "policies/lifetimes/fates.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// The fates of the machines by slot: those of workers, then the needed machines. Workers of one machine
/// (platforms::machine_of) depart together. A host's <prop
/// id="tandem:lifetime" value="weibull shape=0.5 scale=6h"/> replaces key transience.lifetime for its
/// machines; the key's options, and `limit`, are not theirs. With the option by_host, machines on other hosts
/// have the model of their group. Errors: ConfigError naming the host, what was
/// expected and found, also where hosts of one machine have several lifetimes.
std::unique_ptr<lifetimes::Fates> fates_of(const Job& job);
/// The same with another seed than the experiment's.
std::unique_ptr<lifetimes::Fates> fates_of(const Job& job, std::uint64_t seed);

}  // namespace tandem

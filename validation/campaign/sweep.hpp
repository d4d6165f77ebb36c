// A study divided among processes and machines: stable identities of configurations, and the configurations
// of each part. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "validation/campaign/suite.hpp"

namespace tandem::validation {

/// One of `count` parts.
struct Shard {
  int index = 0;
  int count = 1;
};

/// "2/8", from 0/8 to 7/8. "/8": the index is the number of this task in an array of Slurm, PBS or
/// HyperQueue, from the environment. Empty: index and count are those of a Slurm job array. Errors:
/// ConfigError, also for a task beyond the shards.
Shard parse_shard(const std::string& text);

/// Digest of all keys of the experiment except its name: equal for the same simulation in any study.
std::string content_hash(const SuiteConfiguration& configuration);
/// Digest without seeds: equal for configurations that differ in seeds alone.
std::string hash_without_seeds(const SuiteConfiguration& configuration);
/// Digest of the names and contents of all configurations.
std::string study_id(const Suite& suite);

/// The relative cost of a simulation: workers times rounds, of all jobs.
double expected_cost(const SuiteConfiguration& configuration);

/// The configurations of one shard, as positions in ascending order. Shards have about the same expected
/// cost, and depend on the suite alone.
std::vector<std::size_t> configurations_of(const Suite& suite, const Shard& shard);

}  // namespace tandem::validation

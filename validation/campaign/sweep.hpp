// A study divided among processes and machines: stable identities of configurations, and the part of each.
// Pure.
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

/// "2/8", from 0/8 to 7/8. Errors: ConfigError.
Shard parse_shard(const std::string& text);
/// The task of a job array that the environment describes: Slurm, PBS or HyperQueue, with `count` given by
/// Slurm alone. Errors: ConfigError when there is none.
Shard shard_of_environment();

/// Digest of all keys of the experiment but its name: equal for the same simulation, whatever study it is in.
std::string content_hash(const SuiteConfiguration& configuration);
/// Digest of the names and contents of all configurations.
std::string study_id(const Suite& suite);

/// The configurations of one shard, as positions in ascending order. Shards have about the same expected
/// cost, workers times rounds, and depend on the suite alone.
std::vector<std::size_t> configurations_of(const Suite& suite, const Shard& shard);

}  // namespace tandem::validation

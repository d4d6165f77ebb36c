// Means over the configurations of a study that differ in their seed alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "validation/compare/statistics.hpp"
#include "validation/report/study.hpp"

namespace tandem::validation {

/// Whether the key is the seed of the experiment, or of one of several jobs.
bool is_seed(const std::string& key);
/// "3", or "3/1" where several jobs have their own.
std::string seed_of(const StudyResult& configuration);

/// A name of configurations or groups without its seed: "uniform" of "seed=4/uniform"; empty: nothing else.
std::string without_seed(const std::string& name);

/// Mean of `ours` minus `theirs` over the seeds that both have. Its deviation is the standard error of that
/// mean, without the variation from seed to seed that both have in common. NaN with fewer than two seeds in
/// common.
Moments difference_over_seeds(const std::map<std::string, double>& ours,
                              const std::map<std::string, double>& theirs);

/// One entry for each experiment that worked with two seeds or more. `baseline`: the algorithm with which
/// others are compared; empty: none.
std::vector<SeedMeans> means_over_seeds(const std::vector<StudyResult>& configurations,
                                        const std::string& baseline);

}  // namespace tandem::validation

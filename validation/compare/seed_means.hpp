// Means over the configurations of a study that differ in their seed alone.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "validation/compare/statistics.hpp"

namespace tandem::validation {

/// Of the experiment, or of one of several jobs.
bool is_seed(const std::string& key);
/// Of a configuration in a study's document: "3", or "3/1" where several jobs have their own.
std::string seed_of(const nlohmann::json& configuration);

/// Mean of `ours` minus `theirs` over the seeds that both have, and as its deviation the standard error of
/// that mean, which the seeds' own differences do not enlarge. NaN with fewer than two seeds in common.
Moments difference_over_seeds(const std::map<std::string, double>& ours,
                              const std::map<std::string, double>& theirs);

/// [{name, baseline (name of an entry; null: none), configurations: [name, ...], samples (mean), throughput,
/// last_accuracy (of the last evaluation), best_accuracy: {mean, deviation (standard deviation of the
/// sample)}, accuracy_gain: {mean, deviation (standard error)}: its last_accuracy minus that of the
/// baseline, as difference_over_seeds()}]; null: no accuracy, or no two seeds in common. One entry for each
/// experiment that worked with two seeds or more. `baseline`: the algorithm with which others are compared;
/// "": none.
nlohmann::json means_over_seeds(const std::vector<nlohmann::json>& configurations,
                                const std::string& baseline);

}  // namespace tandem::validation

// Means over the configurations of a study that differ in their seed alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::validation {

/// [{name, baseline (name of an entry; null: none), configurations: [name, ...], samples (mean), throughput,
/// last_accuracy (of the last evaluation), best_accuracy: {mean, deviation (standard deviation of the
/// sample)}, accuracy_gain: {mean, deviation (standard error)}: its last_accuracy minus that of the
/// baseline}]; null: no accuracy. One entry for each experiment that worked with two seeds or more.
/// `baseline`: the algorithm with which others are compared; "": none.
nlohmann::json means_over_seeds(const std::vector<nlohmann::json>& configurations,
                                const std::string& baseline);

}  // namespace tandem::validation

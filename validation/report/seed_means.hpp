// Means over the configurations of a study that differ in their seed alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "validation/report/page.hpp"

namespace tandem::validation {

/// [{name, baseline (name of an entry; null: none), configurations: [name, ...], samples (mean), throughput,
/// last_accuracy (of the last evaluation), best_accuracy: {mean, deviation (standard deviation of the
/// sample)}, accuracy_gain: {mean, deviation (standard error)}: its last_accuracy minus that of the
/// baseline}]; null: no accuracy. One entry for each experiment that worked with two seeds or more.
/// `baseline`: the algorithm with which others are compared; "": none.
nlohmann::json means_over_seeds(const std::vector<nlohmann::json>& configurations,
                                const std::string& baseline);

/// Of that list. No rows: there are no such configurations.
Table seeds_table(const nlohmann::json& seeds);

/// What the table's figures are, for the reader.
inline constexpr const char* seeds_definition =
    "Means over the seeds, with the standard deviation after the sign. The last accuracy is that of the last "
    "evaluation, which may be some steps before the end. A difference has its standard error after the sign: "
    "one that is smaller than twice that error may be chance.";

}  // namespace tandem::validation

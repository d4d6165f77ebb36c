// Means over the configurations of a study that differ in their seed alone.
#pragma once

#include <string>
#include <vector>

#include "validation/report/study.hpp"

namespace tandem::validation {

/// One entry for each experiment that worked with two seeds or more. `baseline`: the algorithm with which
/// others are compared; empty: none.
std::vector<SeedMeans> means_over_seeds(const std::vector<StudyResult>& configurations,
                                        const std::string& baseline);

}  // namespace tandem::validation

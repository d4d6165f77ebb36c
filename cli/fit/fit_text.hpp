// The results of `tandem fit lifetimes` for people.
#pragma once

#include <string>

#include "workloads/records/lifetimes_fit.hpp"

namespace tandem::cli {

/// Survival, mean, median, models and comparisons.
std::string lifetimes_text(const LifetimesFit& fit);

}  // namespace tandem::cli

// Selections of the catalogue of synchronisation algorithms.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "policies/sync/policy.hpp"

namespace tandem::testing {

/// Names of those that work over the route.
inline std::vector<std::string> algorithms_over(sync::Route route) {
  std::vector<std::string> names;
  for (const auto& entry : sync::catalog().entries())
    if (std::ranges::count(entry.make.routes, route) > 0) names.push_back(entry.name);
  return names;
}

}  // namespace tandem::testing

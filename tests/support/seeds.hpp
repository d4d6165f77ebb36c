// Seeds of property tests. A failure prints its seed; TANDEM_TEST_SEED=<seed> runs only that seed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace tandem::testing {

/// 1 to `count`, or only the seed given in the environment.
inline std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* wanted = std::getenv("TANDEM_TEST_SEED")) return {std::strtoull(wanted, nullptr, 10)};
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= count; ++seed) all.push_back(seed);
  return all;
}

}  // namespace tandem::testing

/// Prints the seed with every failure in the enclosing block.
#define TANDEM_TRACE_SEED(seed) SCOPED_TRACE("TANDEM_TEST_SEED=" + std::to_string(seed))

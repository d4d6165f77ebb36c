// Names of parameterised tests, derived from names of a catalogue.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tandem::testing {

/// "halving-doubling" becomes "halving_doubling": GoogleTest allows no dash.
inline std::string catalog_name(const ::testing::TestParamInfo<std::string>& entry) {
  std::string name = entry.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Without the signs that GoogleTest does not allow: "d-psgd shard" becomes "dpsgdshard".
inline std::string letters_of(std::string name) {
  std::erase_if(name, [](char c) { return c == '-' || c == ' ' || c == '_'; });
  return name;
}

}  // namespace tandem::testing

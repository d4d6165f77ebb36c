// Parameters of tests whose workers read their samples through cache nodes: an algorithm and its route.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/support/names.hpp"

namespace tandem::testing {

using StoredWay = std::tuple<std::string, sync::Route>;

inline const std::vector<StoredWay> stored_ways = {
    {"bsp", sync::Route::server}, {"asp", sync::Route::server}, {"bsp", sync::Route::all_reduce}};

inline std::string name_of_stored_way(const ::testing::TestParamInfo<StoredWay>& test) {
  return letters_of(std::get<0>(test.param) + to_text(std::get<1>(test.param)));
}

}  // namespace tandem::testing

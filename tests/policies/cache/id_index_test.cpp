// The index of cached ids against the standard library's map.
#include "policies/cache/id_index.hpp"

#include <gtest/gtest.h>

#include <unordered_map>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

TEST(IdIndex, AgreesWithAStandardMapOverRandomInsertionsAndErasures) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const std::uint64_t ids = 1 + rng.below(400);
    const std::uint64_t stride = rng.below(2) == 0 ? 1 : std::uint64_t{1} << 40;  // dense ids and far ones
    IdIndex index;
    std::unordered_map<SampleId, IdIndex::Row> model;
    for (int step = 0; step < 4000; ++step) {
      const auto id = static_cast<SampleId>(rng.below(ids) * stride);
      const auto known = model.find(id);
      ASSERT_EQ(index.find(id), known == model.end() ? IdIndex::none : known->second) << "step " << step;
      if (known != model.end()) {
        index.erase(id);
        model.erase(known);
      } else {
        const auto row = static_cast<IdIndex::Row>(rng.below(1000));
        index.insert(id, row);
        model.emplace(id, row);
      }
      ASSERT_EQ(index.size(), model.size());
    }
    for (std::uint64_t number = 0; number < ids; ++number) {
      const auto id = static_cast<SampleId>(number * stride);
      const auto known = model.find(id);
      ASSERT_EQ(index.find(id), known == model.end() ? IdIndex::none : known->second);
    }
  }
}

TEST(IdIndexDeathTest, InsertingTwiceOrErasingTheAbsentIsAProgrammersError) {
  IdIndex index;
  index.insert(7, 1);
  EXPECT_DEATH(index.insert(7, 2), "internal check failed.*\n.*\n.*id 7");
  EXPECT_DEATH(index.erase(8), "internal check failed.*\n.*\n.*id 8");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cache

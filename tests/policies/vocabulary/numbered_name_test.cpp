// Names with numbers.
#include "policies/vocabulary/numbered_name.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {

TEST(NumberedName, IsSplitAroundItsLastNumber) {
  const auto found = numbered("rack2-node-07.lab");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->before, "rack2-node-");
  EXPECT_EQ(found->digits, "07");
  EXPECT_EQ(found->after, ".lab");
  EXPECT_EQ(found->at(3), "rack2-node-10.lab");
  EXPECT_EQ(found->at(993), "rack2-node-1000.lab");
  EXPECT_FALSE(numbered("server"));
}

TEST(NumberedName, NaturalOrderIsThatOfNumbersInNames) {
  const std::vector<std::string> ordered = {"2",  "10", "a",   "a1x1",    "a2",       "a2b9",   "a2b10",
                                            "a9", "b",  "ddp", "every-2", "every-10", "optimal"};
  auto names = ordered;
  std::ranges::reverse(names);
  std::ranges::sort(names, precedes_naturally);
  EXPECT_EQ(names, ordered);
  for (std::size_t i = 0; i < ordered.size(); ++i)
    for (std::size_t k = 0; k < ordered.size(); ++k)
      EXPECT_EQ(precedes_naturally(ordered[i], ordered[k]), i < k) << ordered[i] << ' ' << ordered[k];
}

}  // namespace TANDEM_FILE
}  // namespace tandem

// Parts, words and numbers of texts: blanks, empty parts, and what is no number.
#include "policies/vocabulary/text_parts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace tandem {
namespace TANDEM_FILE {

using Parts = std::vector<std::string>;

TEST(TextParts, ASplitKeepsEmptyPartsWithoutBlanksAroundThem) {
  EXPECT_EQ(split("a", ','), Parts{"a"});
  EXPECT_EQ(split(" a ,b c,\t", ','), (Parts{"a", "b c", ""}));
  EXPECT_EQ(split(";1", ';'), (Parts{"", "1"}));
  EXPECT_EQ(split(" \n", ','), Parts());
}

TEST(TextParts, WordsAreNeverEmpty) {
  EXPECT_EQ(words_in("  a\tbc \n"), (Parts{"a", "bc"}));
  EXPECT_EQ(words_in("a/ b", " /"), (Parts{"a", "b"}));
  EXPECT_EQ(words_in(" "), Parts());
}

TEST(TextParts, ANumberIsTheWholeText) {
  EXPECT_EQ(parse_number<int>("-3"), -3);
  EXPECT_EQ(parse_number<double>("2.5"), 2.5);
  for (const char* text : {"", "3x", " 3", "+3", "9223372036854775808"})
    EXPECT_EQ(parse_number<std::int64_t>(text), std::nullopt) << text;
  EXPECT_EQ(parse_number<int>("7", 1, 7), 7);
  EXPECT_EQ(parse_number<int>("8", 1, 7), std::nullopt);
  EXPECT_TRUE(std::isnan(parse_number<double>("nan").value()));
  EXPECT_EQ(parse_number<double>("nan", 0.0, 1.0), std::nullopt);
}

}  // namespace TANDEM_FILE
}  // namespace tandem

// Buckets as people write them: SIZE READY [HOST] [SHAPE...].
#include "workloads/experiment/measured_buckets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MeasuredBuckets, MayNameTheShapesOfTheirGradients) {
  const auto bucket = parse_bucket("96B 30ms 2x3x3 6x1", "here");
  EXPECT_EQ(bucket.size.count(), 96);
  EXPECT_EQ(bucket.launched, Seconds(0));
  EXPECT_THAT(bucket.tensors, ElementsAre(ElementsAre(2, 3, 3), ElementsAre(6, 1)));
  EXPECT_THAT(parse_bucket("96B 30ms 40ms 24x1", "here").tensors, ElementsAre(ElementsAre(24, 1)));
  for (const std::string text :
       {"96B 0.03s 2x3x3 6x1", "96B 0.03s 0.04s 24x1", "96B 0.03s 0.04s", "96B 0.03s"})
    EXPECT_EQ(to_text(parse_bucket(text, "here")), text);
}

TEST(MeasuredBuckets, ThatAreWrongAreNamed) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"96B", "expected a bucket as SIZE READY [HOST] [SHAPE...]"},
      {"96B 24x1", "expected a bucket as SIZE READY [HOST] [SHAPE...]"},
      {"96B 30ms 40ms 50ms 24x1", "expected a bucket as SIZE READY [HOST] [SHAPE...]"},
      {"96B 30ms 24x", "in extents above 0"},
      {"96B 30ms x24", "in extents above 0"},
      {"96B 30ms 24x0", "in extents above 0"},
      {"96B 30ms 9999999999x9999999999", "in extents above 0"},
      {"96B 30ms 12x1 40ms", "shapes alone after the first shape"},
      {"96B 30ms 12x1 11x1", "expected shapes of 24 elements in all, as the size says, found '23'"}};
  for (const auto& [text, message] : all) {
    try {
      parse_bucket(text, "here");
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message)) << text;
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem

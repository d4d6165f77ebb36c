// Reads of files as data: requests that bring a part, and errors.
#include "workloads/files/file_transfer.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {

TEST(ReadProgress, PartsFollowEachOther) {
  std::vector<std::byte> target(1000);
  ReadProgress progress({5, 300, target});
  EXPECT_EQ(progress.rest().offset, 300);
  EXPECT_EQ(progress.rest().target.size(), 1000U);
  EXPECT_TRUE(progress.take(400));
  EXPECT_EQ(progress.rest().file, 5);
  EXPECT_EQ(progress.rest().offset, 700);
  EXPECT_EQ(progress.rest().target.data(), target.data() + 400);
  EXPECT_EQ(progress.rest().target.size(), 600U);
  EXPECT_TRUE(progress.take(-EINTR));
  EXPECT_EQ(progress.rest().offset, 700);
  EXPECT_FALSE(progress.take(600));
  EXPECT_EQ(progress.result(), 1000);
}

TEST(ReadProgress, EndsAtTheEndOfTheFileAndWithAnError) {
  std::vector<std::byte> target(1000);
  ReadProgress shorter({5, 0, target});
  EXPECT_TRUE(shorter.take(400));
  EXPECT_FALSE(shorter.take(0));
  EXPECT_EQ(shorter.result(), 400);
  ReadProgress failed({5, 0, target});
  EXPECT_TRUE(failed.take(400));
  EXPECT_FALSE(failed.take(-EIO));
  EXPECT_EQ(failed.result(), -EIO);
}

/// A direct request cannot begin within a block, where the file ends.
TEST(ReadProgress, ARequestThatEndsWithinABlockHasMetTheEnd) {
  std::vector<std::byte> target(4096);
  ReadProgress whole({5, 0, target, 512});
  EXPECT_TRUE(whole.take(1024));
  EXPECT_FALSE(whole.take(100));
  EXPECT_EQ(whole.result(), 1124);
}

}  // namespace TANDEM_FILE
}  // namespace tandem

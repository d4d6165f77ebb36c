// The lock of a result directory: who may hold it together, and that nothing of it remains.
#include "workloads/records/write_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::HasSubstr;

class DirectoryLock : public ::testing::Test {
 protected:
  std::string error_of(WriteLock::Use use) const {
    try {
      const WriteLock lock(path_, use);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }
  bool has_file() const { return std::filesystem::exists(folder_.path(lock_file_name)); }

  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_.path().string();
};

TEST_F(DirectoryLock, ExcludesOthersAndNamesItsHolder) {
  const WriteLock lock(path_);
  for (const auto use : {WriteLock::Use::alone, WriteLock::Use::with_job}) {
    EXPECT_THAT(error_of(use), HasSubstr(path_ + ": in use by process " + std::to_string(getpid()) + " ("));
    EXPECT_THAT(error_of(use), HasSubstr("job_test"));
  }
}

TEST_F(DirectoryLock, IsReleasedAndRemovedAtItsEnd) {
  { const WriteLock lock(path_); }
  EXPECT_FALSE(has_file());
  EXPECT_EQ(error_of(WriteLock::Use::alone), "");
}

TEST_F(DirectoryLock, TheProcessesOfAJobShareItUntilTheLastOneEnds) {
  std::optional<WriteLock> command(std::in_place, path_);
  command->share();
  std::optional<WriteLock> rank(std::in_place, path_, WriteLock::Use::with_job);
  command.reset();
  EXPECT_THAT(error_of(WriteLock::Use::alone), HasSubstr("in use by process"));
  rank.reset();
  EXPECT_EQ(error_of(WriteLock::Use::alone), "");
  EXPECT_FALSE(has_file());
}

TEST_F(DirectoryLock, IsTakenOnlyIfItIsFree) {
  auto first = WriteLock::if_free(path_);
  ASSERT_TRUE(first);
  EXPECT_FALSE(WriteLock::if_free(path_));
  first->share();
  EXPECT_FALSE(WriteLock::if_free(path_));
  first.reset();
  EXPECT_TRUE(WriteLock::if_free(path_));
  EXPECT_FALSE(has_file());
}

/// A process that begins while another one ends, or that prepares the directory.
TEST_F(DirectoryLock, AProcessOfTheJobWaitsForOneThatHoldsItAloneForAMoment) {
  std::optional<WriteLock> first(std::in_place, path_);
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    first->share();
  });
  EXPECT_EQ(error_of(WriteLock::Use::with_job), "");
}

/// A process that was killed leaves the file, which nobody holds.
TEST_F(DirectoryLock, AFileThatNobodyHoldsIsTakenOver) {
  folder_.write(lock_file_name, "1 init\n");
  const WriteLock lock(path_);
  EXPECT_THAT(error_of(WriteLock::Use::alone), HasSubstr(std::to_string(getpid())));
}

TEST_F(DirectoryLock, OfAFileLiesBesideIt) {
  const WriteLock lock(folder_.path("profile.json"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("profile.json.lock")));
  EXPECT_THROW(WriteLock(folder_.path("none/profile.json")), WorldError);
}

TEST_F(DirectoryLock, IsFoundInFoldersBelow) {
  const std::string below = folder_.path("study/bsp");
  std::filesystem::create_directories(below);
  EXPECT_NO_THROW(expect_not_written(path_));
  const WriteLock lock(below);
  EXPECT_THROW(expect_not_written(path_), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem

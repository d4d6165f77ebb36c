// The memory of a job's hosts ends with the job, however that ends, and its content is kept if it is wanted.
#include "runtime/process/commit_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/process/killed_job.hpp"
#include "runtime/process/process.hpp"
#include "runtime/process/process_list.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

namespace fs = std::filesystem;

class CommitMemoryTest : public ::testing::Test {
 protected:
  std::string link() const { return (folder_.path() / "memory").string(); }
  static fs::path memory_of(pid_t process) {
    return fs::path(shared_memory_folder) / ("tandem_commits." + process_identity(process));
  }
  void write_part() const {
    fs::create_directories(link() + "/host/checkpoints");
    std::ofstream(link() + "/host/checkpoints/part") << "state";
  }
  std::string read_part() const {
    std::string text;
    std::ifstream(link() + "/host/checkpoints/part") >> text;
    return text;
  }
  static bool waits_for(const std::function<bool()>& condition) {
    for (int i = 0; i < 500 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
  }
  testing::TemporaryFolder folder_;
};

TEST_F(CommitMemoryTest, IsALinkThatBecomesAFolder) {
  {
    const CommitMemory memory(link(), true);
    EXPECT_TRUE(fs::is_symlink(link()));
    write_part();
    EXPECT_TRUE(fs::exists(memory_of(getpid()) / "host/checkpoints/part"));
    EXPECT_TRUE(abandoned_commit_memory().empty());
  }
  EXPECT_FALSE(fs::exists(memory_of(getpid())));
  EXPECT_FALSE(fs::is_symlink(link()));
  EXPECT_EQ(read_part(), "state");
}

TEST_F(CommitMemoryTest, OrOfWhichNothingStays) {
  {
    const CommitMemory memory(link(), false);
    write_part();
  }
  EXPECT_FALSE(fs::exists(memory_of(getpid())));
  EXPECT_FALSE(fs::exists(fs::symlink_status(link())));
}

/// A process that is killed removes nothing itself: its guard saves the memory when the programs that the
/// process has started are gone.
TEST_F(CommitMemoryTest, IsKeptWhenItsProcessIsKilled) {
  Pipe until_closed = make_pipe();
  Process process = start_function([&] {
    CommitMemory memory(link(), true);
    const KilledJobGuard guard(&memory);
    const Process program = start_program({.words = {"cat"}, .input = until_closed.read_end.number()});
    write_part();
    pause();
    return 0;
  });
  ASSERT_TRUE(waits_for([this] { return read_part() == "state"; }));
  const fs::path memory = memory_of(process.id());
  ASSERT_TRUE(fs::exists(memory));
  EXPECT_FALSE(is_saving_commits(link())) << "the process lives";
  process.kill();
  process.wait();
  EXPECT_TRUE(is_saving_commits(link()));
  EXPECT_TRUE(std::ranges::count(abandoned_commit_memory(), memory) == 0);
  until_closed.write_end.close();
  EXPECT_TRUE(waits_for([&] { return !is_saving_commits(link()); }));
  EXPECT_FALSE(fs::exists(memory));
  EXPECT_FALSE(fs::is_symlink(link()));
  EXPECT_EQ(read_part(), "state");
}

/// What cannot be copied stays where it is, and the link with it.
TEST_F(CommitMemoryTest, StaysWhenItCannotBeCopied) {
  // The name of the copy is longer than a name may be.
  const std::string longest = (folder_.path() / std::string(253, 'm')).string();
  CommitMemory memory(longest, true);
  std::ofstream(longest + "/part") << "state";
  EXPECT_EQ(memory.end(), memory_of(getpid()));
  EXPECT_TRUE(fs::is_symlink(longest));
  EXPECT_TRUE(fs::exists(longest + "/part"));
  fs::remove_all(memory_of(getpid()));
}

TEST_F(CommitMemoryTest, IsCopiedAnewWhereAnUnfinishedCopyWasLeft) {
  CommitMemory memory(link(), true);
  write_part();
  fs::create_directories(link() + ".copy/unfinished");
  EXPECT_EQ(memory.end(), std::nullopt);
  EXPECT_EQ(read_part(), "state");
  EXPECT_FALSE(fs::exists(link() + "/unfinished"));
  EXPECT_FALSE(fs::exists(link() + ".copy"));
}

/// A job that replaces the results has its own memory there.
TEST_F(CommitMemoryTest, LeavesTheLinkOfAnotherJobAlone) {
  for (const bool keeps : {true, false}) {
    CommitMemory memory(link(), keeps);
    write_part();
    fs::remove(link());
    fs::create_directory_symlink(folder_.path(), link());
    EXPECT_EQ(memory.end(), std::nullopt);
    EXPECT_FALSE(fs::exists(memory_of(getpid())));
    EXPECT_EQ(fs::read_symlink(link()), folder_.path());
  }
}

TEST_F(CommitMemoryTest, OfDeadProcessesIsFound) {
  fs::create_directories(folder_.path() / "tandem_commits.1.1/host");
  fs::create_directories(folder_.path() / ("tandem_commits." + process_identity(getpid())));
  fs::create_directories(folder_.path() / "tandem_commits.x");
  std::ofstream(folder_.path() / "tandem_commits.2.2") << "no folder";
  EXPECT_EQ(abandoned_commit_memory(folder_.path()),
            std::vector<fs::path>{folder_.path() / "tandem_commits.1.1"});
}

TEST_F(CommitMemoryTest, OfADeadProcessIsNotFoundWhileItsGuardLives) {
  const fs::path memory = folder_.path() / "tandem_commits.1.1";
  fs::create_directories(memory);
  Descriptor of_guard(open(memory.c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(flock(of_guard.number(), LOCK_EX), 0);
  EXPECT_TRUE(abandoned_commit_memory(folder_.path()).empty());
  of_guard.close();
  EXPECT_EQ(abandoned_commit_memory(folder_.path()), std::vector<fs::path>{memory});
}

}  // namespace TANDEM_FILE
}  // namespace tandem

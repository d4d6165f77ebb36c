// Which round commits of changing workers count from, and the list of those that wrote one.
#include "workloads/checkpoint/commit_members.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

TEST(LastRoundOfCommits, IsTheLastOneThatIsNotLater) {
  EXPECT_EQ(last_round_of_commits(0, 4, 0), 0);
  EXPECT_EQ(last_round_of_commits(0, 4, 3), 0);
  EXPECT_EQ(last_round_of_commits(0, 4, 4), 4);
  EXPECT_EQ(last_round_of_commits(0, 4, 11), 8);
  EXPECT_EQ(last_round_of_commits(0, 1, 11), 11);
  // Of a job that was resumed from round 3.
  EXPECT_EQ(last_round_of_commits(3, 4, 6), 3);
  EXPECT_EQ(last_round_of_commits(3, 4, 7), 7);
}

class CommitMembers : public ::testing::Test {
 protected:
  std::string error_of(const std::string& text) const {
    const std::string path = folder_.write("members", text);
    try {
      load_members(path, 4);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }
  testing::TemporaryFolder folder_;
};

TEST_F(CommitMembers, AreTheSameWhenTheyAreRead) {
  std::filesystem::create_directories(folder_.path() / "checkpoints");
  const std::string path = members_path(folder_.path().string(), 40);
  EXPECT_TRUE(path.ends_with("/checkpoints/round_00000040.members")) << path;
  for (const std::vector<int>& workers : {std::vector{0, 1, 2, 3}, std::vector{1, 3}, std::vector{2}}) {
    save_members(path, workers);
    EXPECT_EQ(load_members(path, 4), workers);
  }
}

TEST_F(CommitMembers, WithoutAListACommitIsNotComplete) {
  try {
    load_members("/nowhere/round_00000040.members", 4);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("found none: a machine departed, or the job ended"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(CommitMembers, ThatCannotBeAreErrors) {
  EXPECT_EQ(error_of("{\"workers\":[0,2]}"), "");
  EXPECT_NE(error_of("no JSON").find("expected a list of workers"), std::string::npos);
  EXPECT_NE(error_of("{\"workers\":[\"a\"]}").find("expected a list of workers"), std::string::npos);
  for (const char* workers : {"[]", "[1,0]", "[1,1]", "[0,4]", "[-1,2]"})
    EXPECT_NE(error_of(std::string("{\"workers\":") + workers + "}")
                  .find(std::string("expected different workers from 0 to 3 in order, found ") + workers),
              std::string::npos)
        << workers << ": " << error_of(std::string("{\"workers\":") + workers + "}");
}

}  // namespace TANDEM_FILE
}  // namespace tandem

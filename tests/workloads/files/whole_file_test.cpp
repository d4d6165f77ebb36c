// Files that are there complete or not at all.
#include "workloads/files/whole_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

class WholeFile : public ::testing::Test {
 protected:
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return rest_of(file);
  }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  }
  testing::TemporaryFolder folder_;
  std::string path_ = folder_.path("file");
};

TEST_F(WholeFile, ReplacesTheOldOne) {
  write_whole_file(path_, "old");
  write_whole_file(path_, "new\n");
  EXPECT_EQ(contents(path_), "new\n");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, IsCheckedBefore) {
  write_whole_file(path_, "old");
  EXPECT_THROW(write_whole_file(path_, "bad", [](const auto&) { throw ConfigError("it is bad"); }),
               ConfigError);
  EXPECT_EQ(contents(path_), "old");
  EXPECT_EQ(files(), 1);
  std::string checked;
  write_whole_file(path_, "good", [&](const auto& written) { checked = contents(written); });
  EXPECT_EQ(checked, "good");
  EXPECT_EQ(contents(path_), "good");
}

TEST_F(WholeFile, ThatCannotBeWrittenLeavesNothing) {
  EXPECT_THROW(write_whole_file(folder_.path("none/file"), "text"), WorldError);
  std::filesystem::create_directory(path_);
  EXPECT_THROW(write_whole_file(path_, "text"), WorldError);
  EXPECT_THROW(write_own_file(path_, "text"), WorldError);
  EXPECT_EQ(files(), 1);
}

/// Until it is complete, readers of the folder know it by its name.
TEST_F(WholeFile, IsPartialUntilItIsComplete) {
  write_whole_file(path_, "text", [&](const std::string& written) {
    EXPECT_TRUE(written.starts_with(path_)) << written;
    EXPECT_TRUE(written.ends_with(".partial")) << written;
  });
}

/// What a process that died has left is replaced.
TEST_F(WholeFile, OfOneWriterHasOneName) {
  std::ofstream(path_ + ".partial") << "of a process that died";
  write_own_file(path_, [&](std::ostream& file) {
    file << "in " << 2 << " parts";
    EXPECT_EQ(files(), 1);
  });
  EXPECT_EQ(contents(path_), "in 2 parts");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, SaysWhyItCannotBeWritten) {
  try {
    write_own_file(folder_.path("none/file"), "text");
    FAIL() << "it was written";
  } catch (const WorldError& error) {
    EXPECT_EQ(std::string(error.what()),
              "cannot write " + folder_.path("none/file") + ": No such file or directory");
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem

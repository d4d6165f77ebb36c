// Which files of shared memory count as abandoned.
#include "runtime/process/shared_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "runtime/process/descriptor.hpp"
#include "runtime/process/process_list.hpp"

namespace tandem {
namespace TANDEM_FILE {

namespace fs = std::filesystem;

class SharedMemory : public ::testing::Test {
 protected:
  // In the file system of shared memory: others may show other inodes in the list of maps.
  SharedMemory() {
    std::string name = std::string(shared_memory_folder) + "/tandem-test-XXXXXX";
    folder_ = mkdtemp(name.data());
    utsname system{};
    uname(&system);
    segment_ = std::string("vader_segment.") + system.nodename + '.' + std::to_string(geteuid()) + ".4f2a.";
    window_ = std::string("osc_sm.") + system.nodename + ".4f2a.";
  }
  ~SharedMemory() override { fs::remove_all(folder_); }
  fs::path make(const std::string& name) const {
    std::ofstream(folder_ / name) << std::string(100, 'x');
    return folder_ / name;
  }
  Descriptor open_file(const fs::path& path) const {
    return Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
  }

  fs::path folder_;
  std::string segment_;
  std::string window_;
};

TEST_F(SharedMemory, FilesOfDeadRanksAreAbandoned) {
  const std::vector<fs::path> expected = {make(window_ + "0.1"), make(segment_ + "0"), make(segment_ + "1")};
  EXPECT_EQ(abandoned_shared_memory(folder_), expected);
}

TEST_F(SharedMemory, AMappedOrOpenFileIsUsed) {
  const fs::path mapped = make(segment_ + "0");
  const fs::path opened = make(segment_ + "1");
  const Descriptor open_one = open_file(opened);
  void* memory = MAP_FAILED;
  {
    const Descriptor file = open_file(mapped);
    memory = mmap(nullptr, 100, PROT_READ, MAP_SHARED, file.number(), 0);
  }
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_TRUE(abandoned_shared_memory(folder_).empty());
  munmap(memory, 100);
  EXPECT_EQ(abandoned_shared_memory(folder_), std::vector<fs::path>{mapped});
}

TEST_F(SharedMemory, OtherFilesAreNeverTouched) {
  for (const std::string name : {"notes.txt", "vader_segment", "osc_sm.4f2a", "osc_sm.host.xyz.0.1"})
    make(name);
  make("vader_segment.host." + std::to_string(geteuid() + 1) + ".4f2a.0");
  fs::create_directory(folder_ / (segment_ + "0"));
  fs::create_symlink(folder_ / "notes.txt", folder_ / (segment_ + "1"));
  EXPECT_TRUE(abandoned_shared_memory(folder_).empty());
}

/// The processes of an emulated host are those of this machine. Those of another container may be invisible.
TEST_F(SharedMemory, OfAHostWithAnotherNameOnlyWhereAllProcessesAreVisible) {
  make("vader_segment.node-1.lab." + std::to_string(geteuid()) + ".4f2a.0");
  make("osc_sm.node-1.lab.4f2a.0.1");
  EXPECT_EQ(abandoned_shared_memory(folder_).size(), sees_processes_of("node-1.lab") ? 2U : 0U);
}

TEST_F(SharedMemory, FilesOfAnotherUserAreNeverTouched) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const fs::path file = make(segment_ + "0");
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(abandoned_shared_memory(folder_).empty());
}

TEST(ProcessIdentity, OfALivingProcessAlone) {
  const std::string own = process_identity(getpid());
  EXPECT_TRUE(own.starts_with(std::to_string(getpid()) + '.')) << own;
  EXPECT_EQ(process_identity(getpid()), own);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(process_identity(child), "") << "a zombie";
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED);
  EXPECT_EQ(process_identity(child), "");
}

}  // namespace TANDEM_FILE
}  // namespace tandem

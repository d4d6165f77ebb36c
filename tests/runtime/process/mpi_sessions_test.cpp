// Which session directories of Open MPI count as abandoned.
#include "runtime/process/mpi_sessions.hpp"

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/process/process_list.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

namespace fs = std::filesystem;

class MpiSessions : public ::testing::Test {
 protected:
  MpiSessions() {
    utsname system{};
    uname(&system);
    here_ = host(system.nodename);
    // The number of a process that has just ended; the kernel gives it to another one only after all others.
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    dead_ = std::to_string(child);
  }
  fs::path host(const std::string& name) const {
    return folder_.path() / ("ompi." + name + '.' + std::to_string(geteuid()));
  }
  /// `daemon`: the process that a file of the session names; empty: none.
  fs::path make(const fs::path& session, const std::string& daemon = "") const {
    fs::create_directories(session / "0");
    if (!daemon.empty()) fs::create_directories(session / ("pmix_dstor_ds21_" + daemon));
    return session;
  }
  std::vector<fs::path> abandoned() const { return abandoned_mpi_sessions(folder_.path()); }

  testing::TemporaryFolder folder_;
  fs::path here_;
  std::string dead_;
  const std::string alive_ = std::to_string(getpid());
};

TEST_F(MpiSessions, OfProgramsThatHaveEndedAreAbandoned) {
  const std::vector<fs::path> expected = {make(here_ / "jf.25441", dead_), make(here_ / ("pid." + dead_))};
  EXPECT_EQ(abandoned(), expected);
}

TEST_F(MpiSessions, OfLivingProgramsAreUsed) {
  make(here_ / "jf.25441", alive_);
  make(here_ / ("pid." + alive_), dead_);
  EXPECT_TRUE(abandoned().empty());
}

/// Perhaps of a program that has just begun.
TEST_F(MpiSessions, WithoutAProcessAreNeverTouched) {
  make(here_ / "jf.25441");
  make(here_ / "pid.");
  make(here_ / ("pid." + dead_ + "x"));
  make(folder_.path() / "ompi.notes" / ("pid." + dead_));
  EXPECT_TRUE(abandoned().empty());
}

TEST_F(MpiSessions, OfAnotherHostOnlyWhereAllProcessesAreVisible) {
  make(host("node-1.lab") / "jf.25441", dead_);
  EXPECT_EQ(abandoned().size(), sees_processes_of("node-1.lab") ? 1U : 0U);
}

TEST_F(MpiSessions, OfAnotherUserAreNeverTouched) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const fs::path session = make(here_ / ("pid." + dead_));
  ASSERT_EQ(chown(session.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(abandoned().empty());
}

TEST_F(MpiSessions, TheLastOneIsRemovedWithTheFolderOfItsHost) {
  const fs::path one = make(here_ / ("pid." + dead_), dead_), other = make(here_ / "jf.25441", dead_);
  remove_mpi_session(one);
  EXPECT_FALSE(fs::exists(one));
  EXPECT_TRUE(fs::exists(other));
  remove_mpi_session(other);
  EXPECT_FALSE(fs::exists(here_));
}

}  // namespace TANDEM_FILE
}  // namespace tandem

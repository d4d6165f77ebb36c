// The launcher: the command that it builds, its reports of failed jobs, and that no process is left behind.
#include "runtime/launcher/launcher.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/mpirun_errors.hpp"
#include "runtime/launcher/rank_lines.hpp"
#include "runtime/process/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

using namespace std::chrono_literals;

bool contains_in_order(const std::vector<std::string>& words, const std::vector<std::string>& part) {
  return std::search(words.begin(), words.end(), part.begin(), part.end()) != words.end();
}

TEST(LaunchCommand, OneMachine) {
  const auto words = launch_command({.ranks = 4, .program = {"/x/tandem-rank", "job.json", "--out", "a b"}});
  EXPECT_EQ(words.front(), "mpirun");
  EXPECT_TRUE(contains_in_order(words, {"-n", "4"}));
  EXPECT_TRUE(contains_in_order(words, {"--bind-to", "none"}));
  EXPECT_TRUE(contains_in_order(words, {"--mca", "btl", "self,vader"}));
  EXPECT_TRUE(contains_in_order(
      words, {"-x", "OMP_NUM_THREADS=1", "-x", "OPENBLAS_NUM_THREADS=1", "/x/tandem-rank"}));
  EXPECT_EQ(std::count(words.begin(), words.end(), "--allow-run-as-root"), geteuid() == 0 ? 1 : 0);
}

// A CUDA-aware Open MPI has the smcuda transport; other builds would reject a list that names it.
TEST(LaunchCommand, GpuMemoryMayUseItsOwnTransport) {
  LaunchSetting setting{.ranks = 2, .program = {"p"}, .device_memory = true};
  EXPECT_TRUE(contains_in_order(launch_command(setting),
                                {"--mca", "btl", "^tcp,ofi,openib,portals4,uct,ugni,usnic"}));
  EXPECT_EQ(std::ranges::count(launch_command(setting), "self,vader"), 0);
  setting.hosts = {"a", "b"};
  EXPECT_EQ(std::ranges::count(launch_command(setting), "btl"), 0) << "no transport is excluded";
}

TEST(LaunchCommand, RanksYieldIfTheyShareCores) {
  const std::vector<std::string> flag = {"--mca", "mpi_yield_when_idle", "1"};
  EXPECT_TRUE(contains_in_order(launch_command({.ranks = 4096, .program = {"p"}}), flag));
  EXPECT_FALSE(contains_in_order(launch_command({.ranks = 1, .program = {"p"}}), flag));
}

TEST(LaunchCommand, SeveralMachinesNameTheHostOfEachRank) {
  const auto words = launch_command({.ranks = 3, .program = {"p"}, .hosts = {"a", "b", "a"}});
  EXPECT_TRUE(contains_in_order(words, {"--host", "a,b,a", "--map-by", "seq"}));
  EXPECT_TRUE(contains_in_order(words, {"--mca", "btl_tcp_eager_limit", "4194304"}));
  for (const char* chosen_by_the_site : {"self,vader", "pml", "plm"})
    EXPECT_EQ(std::count(words.begin(), words.end(), chosen_by_the_site), 0);
  EXPECT_TRUE(contains_in_order(words, {"-x", "TANDEM_LAUNCH"})) << "ranks elsewhere report progress too";
  EXPECT_THROW(launch_command({.ranks = 3, .program = {"p"}, .hosts = {"a"}}), ConfigError);
}

TEST(LaunchCommand, TheNetworkBetweenMachinesCanBeChosen) {
  const auto words = launch_command({.ranks = 2, .program = {"p"}, .hosts = {"a", "b"}, .interface = "eth1"});
  EXPECT_TRUE(contains_in_order(
      words, {"--mca", "btl_tcp_if_include", "eth1", "--mca", "oob_tcp_if_include", "eth1"}));
}

TEST(LaunchCommand, SettingsOfTheSiteWin) {
  setenv("OMPI_MCA_btl_tcp_eager_limit", "65536", 1);
  const auto words = launch_command({.ranks = 2, .program = {"p"}, .hosts = {"a", "b"}});
  unsetenv("OMPI_MCA_btl_tcp_eager_limit");
  EXPECT_EQ(std::ranges::count(words, "btl_tcp_eager_limit"), 0);
}

TEST(LaunchCommand, PrintedForAShell) {
  const auto line = print_command({.ranks = 1, .program = {"./p", "it's", ""}});
  EXPECT_TRUE(line.ends_with("./p 'it'\\''s' ''")) << line;
}

TEST(RankLines, RoundTrip) {
  const auto failure = parse_failure_line(failure_line({12, "node-3.lab", "first: line\nsecond"}));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 12);
  EXPECT_EQ(failure->host, "node-3.lab");
  EXPECT_EQ(failure->message, "first: line\nsecond");
  EXPECT_FALSE(parse_failure_line("rank x on host y: z"));
  EXPECT_EQ(parse_progress_line(progress_line(0.5)), 0.5);
  for (const char* other : {"progress", "progress ", "progress 0.5 left", "x"})
    EXPECT_FALSE(parse_progress_line(other)) << other;
  // A job may end beyond its stop; its line is still no output.
  EXPECT_EQ(parse_status_line(status_line("loading data")), "loading data");
  EXPECT_FALSE(parse_status_line("my status: fine"));
  EXPECT_EQ(progress_line(1.0002), "progress 1.0000");
  EXPECT_EQ(parse_progress_line("progress 1.0002"), 1.0);
  EXPECT_EQ(parse_progress_line("progress nan"), 0.0);
}

TEST(MpirunErrors, SeparatesRanksFromMpirun) {
  MpirunErrors errors;
  EXPECT_EQ(errors.read("mpirun: Forwarding signal 12 to job"), std::nullopt);
  const std::string rule(74, '-');
  EXPECT_EQ(errors.read("a warning"), "a warning");
  EXPECT_FALSE(errors.read("[vm:17] Signal: Segmentation fault (11)"));
  EXPECT_FALSE(errors.read(rule));
  EXPECT_FALSE(
      errors.read("mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed)."));
  EXPECT_FALSE(errors.read(rule));
  EXPECT_EQ(errors.failure().rank, 1);
  EXPECT_EQ(errors.failure().message, "was ended by signal 9 (Killed)");
  ASSERT_TRUE(errors.ended_by_signal());
  EXPECT_EQ(errors.ended_by_signal()->rank, 1);
  EXPECT_EQ(errors.ended_by_signal()->signal, 9);
  EXPECT_EQ(errors.read("after"), "after");
  // A rank's own message takes precedence over mpirun's.
  EXPECT_FALSE(errors.read("rank 0 on host vm: broken"));
  EXPECT_EQ(errors.failure().message, "broken");
}

LaunchSetting ranks_that(const std::string& behaviour) {
  return {.ranks = 3, .program = {sibling_program("launcher_ranks"), behaviour}, .grace = Seconds(4.0)};
}

/// The ranks that have not ended.
std::vector<pid_t> alive_of(const std::vector<pid_t>& ranks) {
  std::vector<pid_t> alive;
  for (const pid_t rank : ranks) {
    std::ifstream stat("/proc/" + std::to_string(rank) + "/stat");
    std::string number, name, state;
    if (stat >> number >> name >> state && state != "Z") alive.push_back(rank);
  }
  return alive;
}

/// The ranks that have not ended after a timeout: on a busy machine the kernel needs time to end a process,
/// and mpirun gives ranks a second before it kills them.
std::vector<pid_t> survivors_of(const std::vector<pid_t>& ranks) {
  for (int i = 0; i < 100 && !alive_of(ranks).empty(); ++i) std::this_thread::sleep_for(100ms);
  return alive_of(ranks);
}

TEST(Launcher, ForwardsLinesAndProgress) {
  std::vector<std::string> output, error;
  std::vector<double> progress;
  const auto result =
      launch(ranks_that("well"), {.output = [&](const std::string& line) { output.push_back(line); },
                                  .error = [&](const std::string& line) { error.push_back(line); },
                                  .progress = [&](double fraction) { progress.push_back(fraction); }});
  EXPECT_EQ(result.exit_code, 0) << result.message;
  EXPECT_EQ(result.failed_rank, -1);
  EXPECT_EQ(output, std::vector<std::string>{"hello"});
  // Libraries of MPI may add warnings of their own, for example where there is no /sys.
  EXPECT_EQ(std::ranges::count(error, "a warning"), 1);
  EXPECT_EQ(progress, (std::vector<double>{0.25, 1.0}));
}

TEST(LongLauncher, StartsWithAnyMpiIfGpuMemoryMayBeSent) {
  LaunchSetting setting = ranks_that("well");
  setting.device_memory = true;
  EXPECT_EQ(launch(setting).exit_code, 0);
}

TEST(Launcher, AFailingRankIsNamedWithItsOwnMessage) {
  const auto broken = launch(ranks_that("abort"));
  EXPECT_EQ(broken.exit_code, 70);
  EXPECT_EQ(broken.failed_rank, 1);
  EXPECT_TRUE(broken.message.starts_with("rank 1 on host ")) << broken.message;
  EXPECT_TRUE(broken.message.ends_with(": disk full\nreally")) << broken.message;
  const auto bad_input = launch(ranks_that("config"));
  EXPECT_EQ(bad_input.exit_code, 2);
  EXPECT_EQ(bad_input.failed_rank, 2);
  EXPECT_TRUE(bad_input.message.ends_with(": no such key")) << bad_input.message;
}

TEST(LongLauncher, ARankThatEndsWithoutAMessageIsReported) {
  const auto killed = launch(ranks_that("killed"));
  EXPECT_EQ(killed.exit_code, 70);
  EXPECT_EQ(killed.failed_rank, 2);
  EXPECT_NE(killed.message.find("signal 9"), std::string::npos) << killed.message;
  const auto left = launch(ranks_that("exit"));
  EXPECT_EQ(left.exit_code, 70);
  EXPECT_EQ(left.failed_rank, 1);
  EXPECT_NE(left.message.find("exit code 9"), std::string::npos) << left.message;
}

/// As PMIx does now and then after a rank was killed.
TEST(Launcher, AnMpirunThatLocksUpAfterItsRanksIsEnded) {
  const testing::TemporaryFolder folder;
  // The shell itself waits, without another process.
  const std::string mpirun =
      folder.write("mpirun", "#!/bin/bash\nsleep 1.5 &\nwait\nmkfifo " + folder.path("never") + "\nexec 3<>" +
                                 folder.path("never") + "\nread -r line <&3\n");
  ASSERT_EQ(chmod(mpirun.c_str(), 0755), 0);
  const auto result = launch({.ranks = 1, .program = {"true"}, .mpirun = mpirun});
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_EQ(result.message, "mpirun did not end although all of its ranks had");
  EXPECT_FALSE(result.mpirun_was_killed);
}

TEST(Launcher, AMissingProgramIsAnError) {
  EXPECT_THROW(launch({.ranks = 1, .program = {"true"}, .mpirun = "/no/mpirun"}), WorldError);
  const auto result = launch({.ranks = 2, .program = {"/no/such/program"}});
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_NE(result.message.find("/no/such/program"), std::string::npos) << result.message;
  EXPECT_THROW(sibling_program("no-such-program"), WorldError);
}

/// A launching process whose three ranks are running.
class RunningJob {
 public:
  explicit RunningJob(const std::string& behaviour)
      : driver_(start_program(
            {.words = {sibling_program("launcher_driver"), sibling_program("launcher_ranks"), behaviour},
             .output = pipe_.write_end.number()})) {
    pipe_.write_end.close();
    output_ = fdopen(pipe_.read_end.release(), "r");
    char line[200];
    while (ranks_.size() < 3 && std::fgets(line, sizeof(line), output_) != nullptr) {
      int rank = 0;
      pid_t process = 0;
      if (std::sscanf(line, "rank %d is process %d", &rank, &process) == 2) ranks_.push_back(process);
    }
    if (ranks_.empty()) return;
    std::ifstream stat("/proc/" + std::to_string(ranks_.front()) + "/stat");
    std::string number, name, state;
    stat >> number >> name >> state >> mpirun_;
  }
  ~RunningJob() { std::fclose(output_); }
  RunningJob(const RunningJob&) = delete;
  RunningJob& operator=(const RunningJob&) = delete;

  const std::vector<pid_t>& ranks() const { return ranks_; }
  /// The process that started the first rank.
  pid_t mpirun() const { return mpirun_; }
  void signal(int number) const { driver_.signal(number); }
  int exit_code() { return driver_.wait().code; }
  std::string last_line() const {
    char line[500];
    std::string last;
    while (std::fgets(line, sizeof(line), output_) != nullptr) last = line;
    return last;
  }

 private:
  Pipe pipe_ = make_pipe();
  Process driver_;
  FILE* output_ = nullptr;
  pid_t mpirun_ = -1;
  std::vector<pid_t> ranks_;
};

TEST(LongLauncher, CtrlCLeavesNoProcess) {
  RunningJob job("wait");
  ASSERT_EQ(alive_of(job.ranks()).size(), 3U);
  job.signal(SIGINT);
  EXPECT_EQ(job.last_line(), "result 130 rank -1 ended by signal 2\n");
  EXPECT_EQ(job.exit_code(), 130);
  EXPECT_TRUE(survivors_of(job.ranks()).empty());
}

TEST(Launcher, AHungJobCanBeEnded) {
  RunningJob job("hang");
  ASSERT_EQ(alive_of(job.ranks()).size(), 3U);
  job.signal(SIGTERM);
  EXPECT_EQ(job.exit_code(), 143);
  EXPECT_TRUE(survivors_of(job.ranks()).empty());
}

TEST(Launcher, RanksThatHeedTheNoticeEndInOrder) {
  RunningJob job("heed");
  ASSERT_EQ(alive_of(job.ranks()).size(), 3U);
  job.signal(SIGTERM);
  EXPECT_EQ(job.last_line(), "result 143 rank -1 ended by signal 15, in order\n");
  EXPECT_EQ(job.exit_code(), 143);
}

TEST(LongLauncher, RanksThatDoNotAreEndedAfterIt) {
  RunningJob job("hesitate");
  ASSERT_EQ(alive_of(job.ranks()).size(), 3U);
  const auto begin = std::chrono::steady_clock::now();
  job.signal(SIGTERM);
  EXPECT_EQ(job.last_line(), "result 143 rank -1 ended by signal 15\n");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(job.exit_code(), 143);
  EXPECT_TRUE(survivors_of(job.ranks()).empty());
  // Ctrl-C does not wait.
  RunningJob other("hesitate");
  ASSERT_EQ(alive_of(other.ranks()).size(), 3U);
  other.signal(SIGINT);
  EXPECT_EQ(other.exit_code(), 130);
}

TEST(LongLauncher, OneKilledRankEndsTheJob) {
  RunningJob job("wait");
  ASSERT_EQ(alive_of(job.ranks()).size(), 3U);
  kill(job.ranks()[0], SIGKILL);
  EXPECT_NE(job.last_line().find("signal 9"), std::string::npos);
  EXPECT_EQ(job.exit_code(), 70);
  EXPECT_TRUE(survivors_of(job.ranks()).empty());
}

TEST(Launcher, WhenTheLauncherIsKilledItsRanksEnd) {
  for (const char* behaviour : {"wait", "hang"}) {
    RunningJob job(behaviour);
    ASSERT_EQ(alive_of(job.ranks()).size(), 3U);
    job.signal(SIGKILL);
    job.exit_code();
    auto processes = job.ranks();
    processes.push_back(job.mpirun());
    EXPECT_TRUE(survivors_of(processes).empty()) << behaviour;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem

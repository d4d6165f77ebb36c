// Starting and watching processes, in particular their failures.
#include "runtime/process/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/process/line_reader.hpp"
#include "runtime/process/process_list.hpp"
#include "runtime/process/run_program.hpp"
#include "runtime/process/running_program.hpp"
#include "runtime/process/signals.hpp"

namespace tandem {
namespace TANDEM_FILE {

namespace fs = std::filesystem;

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

bool is_child_left() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

bool exists(pid_t process) { return ::kill(process, 0) == 0; }

/// Whether the process ends, or becomes an uncollected zombie, within ten seconds.
bool ends_soon(pid_t process) {
  for (int i = 0; i < 1000; ++i) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string number, name, state;
    if (!(stat >> number >> name >> state) || state == "Z") return true;
    usleep(10'000);
  }
  return false;
}

int open_descriptors() {
  return static_cast<int>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST(RunProgram, GivesInputAndReturnsOutputAndExitCode) {
  const auto result = run_program(shell("cat; echo error >&2; exit 3"), {.input = "text\n"});
  EXPECT_EQ(result.output, "text\nerror\n");
  EXPECT_EQ(result.status, (ExitStatus{.code = 3}));
  EXPECT_EQ(result.status.shell_code(), 3);
  EXPECT_FALSE(result.timed_out);
  EXPECT_FALSE(is_child_left());
}

TEST(RunProgram, SearchesThePath) { EXPECT_TRUE(run_program({"true"}).status.succeeded()); }

TEST(RunProgram, AMissingProgramIsAnErrorThatNamesIt) {
  const int before = open_descriptors();
  try {
    run_program({"/no/such/program"});
    FAIL();
  } catch (const ProgramMissing& error) {
    EXPECT_STREQ(error.what(), "cannot start /no/such/program: No such file or directory");
  }
  EXPECT_FALSE(is_child_left()) << "a zombie";
  EXPECT_EQ(open_descriptors(), before);
}

TEST(RunProgram, AFileThatIsNotExecutableIsAnError) {
  EXPECT_THROW(run_program({"/etc/passwd"}), WorldError);
  EXPECT_FALSE(is_child_left());
}

TEST(RunProgram, ReportsTheSignalThatEndedIt) {
  const auto result = run_program(shell("kill -SEGV $$"));
  EXPECT_EQ(result.status, (ExitStatus{.signal = SIGSEGV}));
  EXPECT_EQ(result.status.shell_code(), 128 + SIGSEGV);
}

TEST(RunProgram, HandlesMoreInputAndOutputThanAPipeBuffers) {
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(run_program({"cat"}, {.input = large}).output, large);
  // A program may ignore its input.
  EXPECT_EQ(run_program({"true"}, {.input = large}).output, "");
}

TEST(RunProgram, ATimeLimitEndsTheProgramAndItsChildren) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run_program(shell("sleep 100 & echo $!; wait"), {.time_limit = Seconds(0.3)});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.status, (ExitStatus{.signal = SIGKILL}));
  EXPECT_TRUE(ends_soon(std::stoi(result.output)));
  EXPECT_FALSE(run_program({"true"}, {.time_limit = Seconds(60)}).timed_out);
}

TEST(RunProgram, DoesNotWaitForABackgroundProcess) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run_program(shell("sleep 100 & echo $!"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
  ::kill(std::stoi(result.output), SIGKILL);
}

TEST(RunProgram, TheProgramInheritsNoOtherDescriptor) {
  const Pipe pipe = make_pipe();
  const std::string name =
      fs::read_symlink("/proc/self/fd/" + std::to_string(pipe.read_end.number())).string();
  EXPECT_TRUE(name.starts_with("pipe:["));
  const auto result = run_program({"ls", "-l", "/proc/self/fd"});
  EXPECT_NE(result.output.find("memfd:"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find(name), std::string::npos) << result.output;
}

TEST(Process, PollsAndWaits) {
  Process process = start_program({.words = shell("read line; exit 4")});
  EXPECT_EQ(process.wait(), (ExitStatus{.code = 4})) << "standard input is /dev/null";
  EXPECT_EQ(process.poll(), (ExitStatus{.code = 4}));
  Process sleeper = start_program({.words = {"sleep", "100"}});
  EXPECT_FALSE(sleeper.poll());
  EXPECT_FALSE(sleeper.wait_for(Seconds(0.01)));
  sleeper.signal(SIGTERM);
  EXPECT_EQ(sleeper.wait(), (ExitStatus{.signal = SIGTERM}));
  sleeper.signal(SIGTERM);
}

TEST(Process, TheDestructorKillsAndLeavesNoZombie) {
  pid_t id = 0;
  {
    Process first = start_program({.words = {"sleep", "100"}});
    Process second = std::move(first);
    id = second.id();
    EXPECT_TRUE(exists(id));
    first = start_program({.words = {"true"}});
  }
  EXPECT_FALSE(exists(id));
  EXPECT_FALSE(is_child_left());
}

TEST(Process, AProcessGroupIsKilledAsAWhole) {
  Pipe pipe = make_pipe();
  Process process = start_program(
      {.words = shell("sleep 100 & echo $!; wait"), .output = pipe.write_end.number(), .own_group = true});
  EXPECT_EQ(getpgid(process.id()), process.id());
  char text[32] = {};
  ASSERT_GT(read(pipe.read_end.number(), text, sizeof(text) - 1), 0);
  process.kill();
  process.wait();
  EXPECT_TRUE(ends_soon(std::atoi(text)));
}

TEST(Process, AddsVariablesAndPlacesDescriptorsThatCollide) {
  const Descriptor output = make_memory_file();
  const Descriptor errors = make_memory_file();
  const std::string script = "echo $TANDEM_PROCESS_TEST; echo error >&2";
  // Standard output and error are swapped: neither copy may overwrite the other.
  const auto status = start_function([&] {
                        dup2(errors.number(), STDOUT_FILENO);
                        dup2(output.number(), STDERR_FILENO);
                        return start_program({.words = shell(script),
                                              .environment = {"TANDEM_PROCESS_TEST=seen"},
                                              .output = STDERR_FILENO,
                                              .errors = STDOUT_FILENO})
                            .wait()
                            .shell_code();
                      }).wait();
  EXPECT_TRUE(status.succeeded());
  EXPECT_EQ(read_file_from_start(output.number()), "seen\n");
  EXPECT_EQ(read_file_from_start(errors.number()), "error\n");
}

TEST(Process, UsesTheGivenSignalMask) {
  const BlockedSignals blocked({SIGTERM});
  Process deaf = start_program({.words = shell("kill -TERM $$; exit 5")});
  EXPECT_EQ(deaf.wait(), (ExitStatus{.code = 5}));
  Process listening =
      start_program({.words = shell("kill -TERM $$; exit 5"), .blocked_signals = blocked.mask_of_children()});
  EXPECT_EQ(listening.wait(), (ExitStatus{.signal = SIGTERM}));
}

TEST(Process, EndsWithItsParentIfAsked) {
  Pipe pipe = make_pipe();
  Process parent = start_function([&] {
    const Process child = start_program({.words = {"sleep", "100"}, .signal_on_parent_end = SIGKILL});
    write_all(pipe.write_end.number(), std::to_string(child.id()));
    pause();
    return 0;
  });
  char text[32] = {};
  ASSERT_GT(read(pipe.read_end.number(), text, sizeof(text) - 1), 0);
  parent.kill();
  EXPECT_EQ(parent.wait(), (ExitStatus{.signal = SIGKILL}));
  EXPECT_TRUE(ends_soon(std::atoi(text)));
}

TEST(StartFunction, ReturnsTheCodeAndSurvivesExceptionsAndCrashes) {
  EXPECT_EQ(start_function([] { return 7; }).wait(), (ExitStatus{.code = 7}));
  EXPECT_EQ(start_function([]() -> int { throw WorldError("as expected"); }).wait(), (ExitStatus{.code = 1}));
  EXPECT_EQ(start_function([] { return raise(SIGKILL); }).wait(), (ExitStatus{.signal = SIGKILL}));
}

TEST(LineReader, SplitsLinesAcrossReadsAndReturnsAnIncompleteLastLine) {
  Pipe pipe = make_pipe();
  std::vector<std::string> lines;
  LineReader reader(std::move(pipe.read_end), [&](const std::string& line) { lines.push_back(line); });
  reader.read_available();
  EXPECT_TRUE(reader.is_open());
  write_all(pipe.write_end.number(), "one\ntw");
  reader.read_available();
  EXPECT_EQ(lines, (std::vector<std::string>{"one"}));
  write_all(pipe.write_end.number(), "o\n\nthree");
  pipe.write_end.close();
  reader.read_available();
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "", "three"}));
  EXPECT_FALSE(reader.is_open());
}

TEST(Signals, AreReadInsteadOfDelivered) {
  const SignalReader signals({SIGINT, SIGTERM});
  EXPECT_FALSE(signals.next());
  raise(SIGTERM);
  EXPECT_EQ(signals.next(), SIGTERM);
  EXPECT_FALSE(signals.next());
}

TEST(Signals, IgnoredSignalsStayIgnored) {
  const auto before = signal(SIGHUP, SIG_IGN);
  {
    const SignalReader signals({SIGHUP, SIGTERM});
    raise(SIGHUP);
    EXPECT_FALSE(signals.next());
  }
  signal(SIGHUP, before);
}

TEST(Signals, APendingSignalIsSeenAndDeliveredAtTheEnd) {
  EXPECT_EQ(start_function([] {
              const BlockedSignals blocked({SIGTERM});
              const bool early = blocked.any_pending();
              raise(SIGTERM);
              return early || !blocked.any_pending() ? 1 : 0;
            }).wait(),
            (ExitStatus{.signal = SIGTERM}));
}

TEST(Signals, ChildrenReceiveTheSignalsThatNestedBlocksHoldBack) {
  const BlockedSignals outer({SIGTERM});
  const SignalReader inner({SIGTERM});
  Process process = start_program({.words = {"sleep", "100"}, .blocked_signals = inner.mask_of_children()});
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), (ExitStatus{.signal = SIGTERM}));
}

TEST(ProcessList, FindsAndKillsByAVariable) {
  const std::string mark = "TANDEM_PROCESS_TEST=" + std::to_string(getpid());
  Process process = start_program({.words = {"sleep", "100"}, .environment = {mark}});
  const auto find = [&] { return processes_with_variable(mark); };
  EXPECT_EQ(find(), std::vector<pid_t>{process.id()});
  EXPECT_TRUE(kill_until_none(find, Seconds(20)));
  EXPECT_EQ(process.wait(), (ExitStatus{.signal = SIGKILL}));
}

TEST(ProcessList, SaysWhenProcessesAreLeft) {
  EXPECT_TRUE(kill_until_none([] { return std::vector<pid_t>{}; }, Seconds(0)));
  Process process = start_program({.words = {"sleep", "100"}});
  // The list never becomes empty.
  EXPECT_FALSE(kill_until_none([&] { return std::vector<pid_t>{process.id()}; }, Seconds(0.05)));
}

TEST(Descriptors, ErrorsNameTheFile) {
  try {
    create_file("/no/such/folder/log");
    FAIL();
  } catch (const WorldError& error) {
    EXPECT_STREQ(error.what(), "cannot write /no/such/folder/log: No such file or directory");
  }
  EXPECT_TRUE(running_program().string().ends_with("runtime_test"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem

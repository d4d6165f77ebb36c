// main() of test programs whose tests cannot share a process, for example because of SimGrid's engine. The
// parent loads the libraries once and runs no test itself: each test runs in a forked child that prints its
// failures.
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "runtime/process/end_process.hpp"

namespace tandem {

/// Loads libtorch. Null in a program that does not link the learner.
[[gnu::weak]] void prepare_learner();

namespace {

using Clock = std::chrono::steady_clock;

/// Exit codes of a child. None is 0, so that a test that calls exit() does not pass.
enum Verdict : int { passed = 90, failed = 91, skipped = 92 };

struct TestCase {
  std::string name;
  std::string parameter;  ///< as printed, or empty
};

/// `patterns`: those of --gtest_filter, separated by colons.
bool matches_any(const std::string& name, const std::string& patterns) {
  for (std::size_t begin = 0; begin <= patterns.size();) {
    const std::size_t end = std::min(patterns.find(':', begin), patterns.size());
    if (fnmatch(patterns.substr(begin, end - begin).c_str(), name.c_str(), 0) == 0) return true;
    begin = end + 1;
  }
  return false;
}

bool is_selected(const std::string& name) {
  const std::string& filter = testing::GTEST_FLAG(filter);
  const std::size_t dash = filter.find('-');
  const std::string wanted = filter.substr(0, dash);
  if (!wanted.empty() && !matches_any(name, wanted)) return false;
  return dash == std::string::npos || !matches_any(name, filter.substr(dash + 1));
}

bool is_disabled(const testing::TestSuite& suite, const testing::TestInfo& test) {
  if (testing::GTEST_FLAG(also_run_disabled_tests)) return false;
  return fnmatch("*DISABLED_*", suite.name(), 0) == 0 || std::strncmp(test.name(), "DISABLED_", 9) == 0;
}

int environment_number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// The tests of this shard, assigned like in GoogleTest: GTEST_TOTAL_SHARDS, GTEST_SHARD_INDEX.
std::vector<TestCase> selected_tests() {
  const int shards = environment_number("GTEST_TOTAL_SHARDS", 1);
  const int shard = environment_number("GTEST_SHARD_INDEX", 0);
  const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
  std::vector<TestCase> tests;
  int number = 0;
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *program.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      const std::string name = std::string(suite.name()) + '.' + test.name();
      if (!is_selected(name) || is_disabled(suite, test) || number++ % shards != shard) continue;
      tests.push_back({name, test.value_param() == nullptr ? "" : test.value_param()});
    }
  }
  return tests;
}

class PrintFailures : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.passed()) return;
    if (result.file_name() != nullptr) std::printf("%s:%d: ", result.file_name(), result.line_number());
    std::printf("%s\n%s\n", result.skipped() ? "Skipped" : "Failure", result.message());
    std::fflush(stdout);
  }
};

/// Runs in the child. Returns the result of its test.
int run_alone(const TestCase& test) {
  unsetenv("GTEST_TOTAL_SHARDS");
  unsetenv("GTEST_SHARD_INDEX");
  testing::GTEST_FLAG(filter) = test.name;
  testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new PrintFailures);
  if (RUN_ALL_TESTS() != 0) return failed;
  const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
  if (program.skipped_test_count() == 1) return skipped;
  return program.successful_test_count() == 1 ? passed : failed;
}

/// Waits for the child, whose SIGCHLD is blocked, and kills its process group at the time limit. Returns the
/// wait status, and the resources that the child and the processes that it waited for have used.
int wait_for(pid_t child, std::chrono::seconds limit, bool& timed_out, rusage& used) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  const auto end = Clock::now() + limit;
  for (int status = 0;;) {
    if (wait4(child, &status, WNOHANG, &used) == child) return status;
    if (!timed_out && Clock::now() >= end) {
      timed_out = true;
      kill(-child, SIGKILL);
    }
    const timespec pause{.tv_sec = 1, .tv_nsec = 0};
    sigtimedwait(&signals, nullptr, &pause);
  }
}

/// Why the test failed; empty if it passed.
std::string reason_of(int status, bool timed_out, std::chrono::seconds limit) {
  if (timed_out) return "ended after its limit of " + std::to_string(limit.count()) + " s";
  if (WIFSIGNALED(status)) return std::string("crashed: ") + strsignal(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  if (code == passed || code == skipped) return "";
  return code == failed ? "failed" : "exited with code " + std::to_string(code);
}

/// Returns the child's process number in the parent, 0 in the child.
pid_t start_child() {
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    std::perror("fork");
    std::exit(1);
  }
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(failed);
  setpgid(0, 0);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  return 0;
}

long long milliseconds(const timeval& time) { return time.tv_sec * 1000LL + time.tv_usec / 1000; }

int run_each(const std::vector<TestCase>& tests) {
  // A test that exceeds the limit is killed.
  const std::chrono::seconds limit(environment_number("TANDEM_TEST_LIMIT_S", 300));
  std::vector<std::string> failures;
  int skips = 0;
  std::printf("[==========] Running %zu tests, each in a process of its own.\n", tests.size());
  for (const TestCase& test : tests) {
    std::printf("[ RUN      ] %s\n", test.name.c_str());
    const auto start = Clock::now();
    const pid_t child = start_child();
    if (child == 0) end_process(run_alone(test));
    bool timed_out = false;
    rusage used{};
    const int status = wait_for(child, limit, timed_out, used);
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    const std::string reason = reason_of(status, timed_out, limit);
    const bool was_skipped = reason.empty() && WEXITSTATUS(status) == skipped;
    const char* const result = !reason.empty() ? "[  FAILED  ]"
                               : was_skipped   ? "[  SKIPPED ]"
                                               : "[       OK ]";
    std::string line = test.name;
    if (!reason.empty()) {
      if (!test.parameter.empty()) line += ", where GetParam() = " + test.parameter;
      line += ", " + reason;
      failures.push_back(line);
    }
    skips += was_skipped ? 1 : 0;
    std::printf("%s %s (%lld ms, %lld ms of processor time)\n", result, line.c_str(),
                static_cast<long long>(time.count()), milliseconds(used.ru_utime) + milliseconds(used.ru_stime));
  }
  std::printf("[  PASSED  ] %zu tests.\n", tests.size() - failures.size() - static_cast<std::size_t>(skips));
  if (skips > 0) std::printf("[  SKIPPED ] %d tests.\n", skips);
  for (const std::string& failure : failures) std::printf("[  FAILED  ] %s\n", failure.c_str());
  return failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  if (tandem::prepare_learner != nullptr) tandem::prepare_learner();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return tandem::run_each(tandem::selected_tests());
}

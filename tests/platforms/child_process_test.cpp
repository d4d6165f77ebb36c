// A child ends with its parent and within its limits.
#include "platforms/child_process.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

namespace tandem::platforms {
namespace TANDEM_FILE {

TEST(ChildProcess, EndsWhenItsParentIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    run_in_child([&](const Emit&) {
      if (write(ends[1], "!", 1) == 1)
        while (true) pause();
    });
    _exit(0);
  }
  close(ends[1]);
  char started = 0;
  ASSERT_EQ(read(ends[0], &started, 1), 1);
  kill(parent, SIGTERM);
  waitpid(parent, nullptr, 0);
  // The pipe ends when the last process that can write to it has ended.
  pollfd pipe_end{ends[0], POLLIN, 0};
  ASSERT_EQ(poll(&pipe_end, 1, 10'000), 1) << "the child still runs";
  EXPECT_EQ(read(ends[0], &started, 1), 0);
  close(ends[0]);
}

TEST(ChildProcess, ReportsThatItNeedsTooMuchMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends a program that lacks memory itself";
#endif
  const auto result = run_in_child([](const Emit&) {
    // Beyond the limit the first allocation fails, before any memory is used. What this process has freed
    // since it began does not count.
    const auto size = static_cast<std::size_t>(child_memory_limit.count() + (1 << 28));
    const std::vector<char> large(size);
    std::printf("%p", static_cast<const void*>(large.data()));
  });
  EXPECT_FALSE(result.succeeded);
  EXPECT_NE(result.errors.find("expected at most 8 GiB of memory, found more"), std::string::npos)
      << result.errors;
}

TEST(ChildProcess, HasLimitsOfTime) {
  const auto result = run_in_child([](const Emit& emit) {
    rlimit limit{};
    getrlimit(RLIMIT_CPU, &limit);
    emit(std::to_string(limit.rlim_cur) + ' ' + std::to_string(alarm(0)));
  });
  EXPECT_EQ(result.output, "120 600");
}

TEST(ChildProcess, NamesTheLimitOfTimeThatEndedIt) {
  const auto ended_by = [](int signal) {
    return over_time_limit(run_in_child([signal](const Emit&) { std::raise(signal); }));
  };
  EXPECT_EQ(ended_by(SIGXCPU), "expected at most 120 s of processor time, found more");
  EXPECT_EQ(ended_by(SIGALRM), "expected at most 600 s of time, found more");
  EXPECT_EQ(ended_by(SIGSEGV), "");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms

// A process that launches ranks like `tandem run`, which the launcher's tests can signal and kill.
#include <csignal>
#include <cstdio>

#include "runtime/launcher/launcher.hpp"

int main(int argc, char** argv) {
  // A shell that runs the tests in the background ignores SIGINT for them.
  std::signal(SIGINT, SIG_DFL);
  tandem::LaunchSetting setting{.ranks = 3, .grace = tandem::Seconds(4.0)};
  setting.program.assign(argv + 1, argv + argc);
  const auto result = tandem::launch(setting, {.output = [](const std::string& line) {
                                       std::printf("%s\n", line.c_str());
                                       std::fflush(stdout);
                                     }});
  std::printf("result %d rank %d %s\n", result.exit_code, result.failed_rank, result.message.c_str());
  return result.exit_code;
}

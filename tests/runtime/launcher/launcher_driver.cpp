// A process that launches ranks like `tandem run`, which the launcher's tests can signal and kill.
#include <csignal>
#include <cstdio>
#include <string>

#include "runtime/launcher/launcher.hpp"

int main(int argc, char** argv) {
  // A shell that runs the tests in the background ignores SIGINT for them.
  std::signal(SIGINT, SIG_DFL);
  tandem::LaunchSetting setting{.ranks = 3, .grace = tandem::Seconds(4.0)};
  setting.program.assign(argv + 1, argv + argc);
  const std::string behaviour = setting.program.back();
  if (behaviour == "heed" || behaviour == "hesitate") setting.notice = tandem::Seconds(2.0);
  const auto result = tandem::launch(setting, {.output = [](const std::string& line) {
                                       std::printf("%s\n", line.c_str());
                                       std::fflush(stdout);
                                     }});
  std::printf("result %d rank %d %s%s\n", result.exit_code, result.failed_rank, result.message.c_str(),
              result.exit_code > 128 && result.ended_in_order ? ", in order" : "");
  return result.exit_code;
}

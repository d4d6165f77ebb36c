#include "tests/cli/command.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

namespace tandem::testing {

std::string list_processes(const std::string& names) {
  return "for p in $(pgrep -x '" + names +
         "'); do [ \"$(readlink /proc/$p/cwd)\" = \"$PWD\" ] && echo $p; done";
}

CommandResult CommandLine::tandem(const std::string& words) const { return shell("\"$TANDEM\" " + words); }

CommandResult CommandLine::tandem_ended_early(const std::string& words, const EarlyEnd& end) const {
  const auto result =
      shell("processes() { " + end.processes + "; }; \"$TANDEM\" " + words +
            " & run=$!; for i in $(seq 300); do sleep 0.2; " + end.when + " && break; done; " + end.kill +
            "; wait $run; code=$?; sleep 2; [ -n \"$(processes)\" ] && echo ORPHAN; exit $code");
  EXPECT_EQ(result.output.find("ORPHAN"), std::string::npos) << result.output;
  return result;
}

CommandResult CommandLine::shell(const std::string& command) const {
  const std::string line =
      "cd " + folder().string() + " && TANDEM='" TANDEM_COMMAND "' && { " + command + "; } 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  CommandResult result{-1, ""};
  std::array<char, 4096> buffer{};
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    result.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string CommandLine::write(const std::string& name, const std::string& text) const {
  return folder_.write(name, text);
}

std::string CommandLine::experiment(const std::string& more) const {
  return write("experiment.yaml",
               "platform: " TANDEM_SOURCE_DIR
               "/platforms/mixed_lab.xml\n"
               "workload: {model: mlp, dataset: synthetic, math: real, train_samples: 400, test_samples: "
               "100, batch: 8}\n"
               "placement: {workers: [node-1, node-2, node-3, node-6], servers: [server]}\n"
               "stop: {rounds: 6}\n" +
                   more);
}

}  // namespace tandem::testing

#include "tests/cli/command.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "policies/vocabulary/stream_text.hpp"
#include "runtime/process/descriptor.hpp"
#include "runtime/process/process.hpp"
#include "tests/cli/rank_request.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace {

/// The process of rank_server.cpp, if this program's ranks are to be forked. Programs find it by the
/// variable.
std::optional<Process> start_rank_server() {
  if (!ranks_are_served()) return std::nullopt;
  static const TemporaryFolder folder;
  setenv(rank_server_variable, folder.path("socket").c_str(), 1);
  return start_program({.words = {testing::build_folder() + "/bin/rank_server"},
                        // Room for the arguments and variables of a rank.
                        .environment = {"LD_BIND_NOW=1", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
                                        "ROOM=" + std::string(60000, ' ')},
                        .signal_on_parent_end = SIGTERM});
}

/// Where `tandem` and the program next to it, which it starts as tandem-rank, are.
std::string programs() { return testing::build_folder() + (ranks_are_served() ? "/served" : "/bin"); }

/// The process of command_server.cpp, started on first use and ended with this one.
class CommandServer {
 public:
  static CommandServer& instance() {
    static CommandServer server;
    return server;
  }
  /// The exit code; negative where the words need a shell.
  int run(const std::string& folder, const std::string& words, const std::string& output) {
    std::fprintf(requests_, "%s\n%s\n%s\n", folder.c_str(), words.c_str(), output.c_str());
    std::fflush(requests_);
    int code = 0;
    if (std::fscanf(answers_, "%d", &code) != 1) throw std::runtime_error("the command server has ended");
    return code;
  }

 private:
  CommandServer() : CommandServer(make_pipe(), make_pipe()) {}
  CommandServer(Pipe requests, Pipe answers)
      : ranks_(start_rank_server()),
        server_(start_program({.words = {programs() + "/command_server"},
                               .input = requests.read_end.number(),
                               .output = answers.write_end.number(),
                               .signal_on_parent_end = SIGTERM})),
        requests_(fdopen(requests.write_end.release(), "w")),
        answers_(fdopen(answers.read_end.release(), "r")) {}

  std::optional<Process> ranks_;
  Process server_;
  FILE* requests_;
  FILE* answers_;
};

}  // namespace

std::string list_processes(const std::string& names) {
  return "for p in $(pgrep -x '" + names +
         "'); do [ \"$(readlink /proc/$p/cwd)\" = \"$PWD\" ] && echo $p; done";
}

std::string has_started(const std::string& out) {
  return "grep -q tandem-rank " + out + "/LOCK 2> /dev/null";
}

std::string have_started(const std::string& out, int jobs) {
  return "[ $(grep -l tandem-rank " + out + "/jobs/*/LOCK 2> /dev/null | wc -l) -eq " + std::to_string(jobs) +
         " ]";
}

CommandResult CommandLine::tandem(const std::string& words) const {
  const TemporaryFolder outside;
  const std::string output = outside.path("output");
  const int code = words.find('\n') == std::string::npos
                       ? CommandServer::instance().run(folder().string(), words, output)
                       : -1;
  if (code < 0) return shell("\"$TANDEM\" " + words);
  std::ifstream file(output);
  return {code, rest_of(file)};
}

CommandResult CommandLine::tandem_ended_early(const std::string& words, const EarlyEnd& end) const {
  const auto result = shell(
      "processes() { " + end.processes + "; }; \"$TANDEM\" " + words +
      " & run=$!; for i in $(seq 300); do sleep 0.2; " + end.when + " && break; done; " + end.kill +
      "; wait $run; code=$?; for i in $(seq 50); do [ -z \"$(processes)\" ] && exit $code; sleep 0.1; done; "
      "echo ORPHAN; exit $code");
  EXPECT_EQ(result.output.find("ORPHAN"), std::string::npos) << result.output;
  return result;
}

CommandResult CommandLine::shell(const std::string& command) const {
  CommandServer::instance();
  const std::string line =
      "cd " + folder().string() + " && TANDEM='" + programs() + "/tandem' && { " + command + "; } 2>&1";
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
               "platform: " + testing::source_folder() +
                   "/platforms/mixed_lab.xml\n"
                   "workload: {model: mlp, dataset: synthetic, math: " +
                   math_ +
                   ", train_samples: 400, test_samples: 100, batch: 8}\n"
                   "placement: {workers: [node-1, node-2, node-3, node-6], servers: [server]}\n"
                   "stop: {rounds: 6}\n" +
                   more);
}

}  // namespace tandem::testing

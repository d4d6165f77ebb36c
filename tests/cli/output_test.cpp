// Options that all commands share: --json, --quiet, --version, and colour.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;

class Output : public ::testing::Test {
 protected:
  /// What is on standard output, as JSON; the rest is in errors.txt.
  json document(const std::string& words, int other_code = 0) const {
    const auto result = line_.shell("\"$TANDEM\" " + words + " --json 2> errors.txt");
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == other_code)
        << words << '\n'
        << result.output << line_.shell("cat errors.txt").output;
    const json parsed = json::parse(result.output, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << words << '\n' << result.output;
    return parsed;
  }
  const std::string job_ = "platform: " + testing::source_folder() +
                           "/platforms/mixed_lab.xml\n"
                           "workload: {model: mlp, dataset: synthetic, math: modelled}\n"
                           "placement: {workers: [node-1, node-2], servers: [server]}\nstop: {rounds: 3}\n";
  void expect_quiet(const std::string& command) const {
    const std::string out = command == "show " ? "" : " --out " + command.substr(0, 3);
    const auto result = line_.tandem(command + experiment_ + out + " --quiet");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_EQ(result.output, "") << command;
  }
  CommandLine line_;
  const std::string experiment_ = line_.write("job.yaml", job_);
};
using LongOutput = Output;

TEST_F(Output, JsonIsOneObjectOnStandardOutput) {
  EXPECT_EQ(document("simulate " + experiment_ + " --out simulated").at("summary").at("rounds"), 3);
  EXPECT_GT(document("simulate " + experiment_ + " --out again").at("binding").at("exchange"), 0);
  EXPECT_TRUE(document("study " + experiment_ + " --out study").contains("configurations"));
  EXPECT_TRUE(document("report study").contains("configurations"));
  EXPECT_TRUE(document("view .").is_object());
  EXPECT_EQ(document("study " + experiment_ + " --list").at("configurations").size(), 1U);
  EXPECT_EQ(document("show " + experiment_).at("stop").at("rounds"), 3);
  EXPECT_EQ(document("show " + testing::source_folder() + "/platforms/mixed_lab.xml").at("hosts").size(), 7U);
  EXPECT_EQ(document("list sync").at("sync").at(0).at("name"), "sequential");
  EXPECT_TRUE(document("list sync bsp").at("sync").at(0).contains("membership"));
  EXPECT_EQ(document("list").size(), 17U);
  EXPECT_TRUE(document("calibrate " + experiment_ + " --print-command --out p.json").contains("command"));
  EXPECT_TRUE(document("clean --dry-run").contains("left"));
  EXPECT_EQ(document("init job2").at("experiment"), "job2.yaml");
}

TEST_F(LongOutput, JsonOfARunAndOfItsComparisonIsOneObject) {
  document("simulate " + experiment_ + " --out simulated");
  EXPECT_EQ(document("run " + experiment_ + " --out measured").at("directory"), "measured");
  // The run used this machine's own network, the simulation the links of the platform.
  const json compared = document("compare simulated measured --tolerance 1000", 1);
  EXPECT_EQ(compared.at("state"), "INCONCLUSIVE");
  EXPECT_NE(compared.at("verdict").dump().find("this machine's own network"), std::string::npos) << compared;
  EXPECT_TRUE(compared.contains("configurations")) << compared;
}

/// What people read goes to standard error.
TEST_F(Output, WithJsonTheTextIsOnStandardError) {
  document("simulate " + experiment_ + " --out simulated");
  EXPECT_NE(line_.shell("cat errors.txt").output.find("3 rounds"), std::string::npos);
}

/// No exponents: "10,750 samples/s".
TEST_F(Output, LargeNumbersAreInGroups) {
  const auto result = line_.tandem("simulate " + experiment_ + " --set workload.batch=2000 --out out");
  EXPECT_NE(result.output.find(" 12,000 samples in "), std::string::npos) << result.output;
}

/// The lines by which ranks talk to the launcher never reach the user.
TEST_F(Output, StartUpIsInWords) {
  const auto result = line_.tandem("run " + experiment_ + " --out out");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const char* text :
       {": starting ", " ranks ...\n", ": loading the data on ", ": preparing the model ...\n"})
    EXPECT_NE(result.output.find(text), std::string::npos) << text << '\n' << result.output;
  for (const char* text : {"status:", "\nprogress "})
    EXPECT_EQ(result.output.find(text), std::string::npos) << text << '\n' << result.output;
}

TEST_F(Output, QuietPrintsErrorsOnly) {
  for (const std::string command : {"simulate ", "show ", "study "}) expect_quiet(command);
  const auto failed = line_.tandem("simulate none.yaml -q");
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_NE(failed.output.find("tandem: none.yaml"), std::string::npos) << failed.output;
  const json both =
      json::parse(line_.tandem("simulate " + experiment_ + " --out both -q --json").output, nullptr, false);
  EXPECT_TRUE(both.is_object());
}

TEST_F(LongOutput, AQuietRunPrintsErrorsOnly) { expect_quiet("run "); }

TEST_F(Output, VersionNamesTheLibraries) {
  const auto result = line_.tandem("--version");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* name : {"tandem ", "\nSimGrid 3.", "\nMPI: Open MPI", "\nlibtorch: 1.", "\nCUDA: "})
    EXPECT_NE(result.output.find(name), std::string::npos) << name << '\n' << result.output;
}

TEST_F(Output, ARenamedOptionNamesItsSuccessor) {
  const auto result = line_.tandem("study " + experiment_ + " --at-once 2");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "tandem study: --at-once is now --jobs\n");
}

TEST_F(Output, ColourOnATerminalOnly) {
  const std::string bad = "simulate none.yaml";
  const std::string escape = "\033[";
  EXPECT_EQ(line_.tandem(bad).output.find(escape), std::string::npos);
  if (line_.shell("script -qec true /dev/null").exit_code != 0)
    GTEST_SKIP() << "no program `script`, or no pseudo-terminals";
  const auto on_terminal = [&](const std::string& environment) {
    return line_.shell(environment + " script -qec '\"'$TANDEM'\" " + bad + "' /dev/null").output;
  };
  EXPECT_NE(on_terminal("TERM=xterm").find(escape), std::string::npos);
  EXPECT_EQ(on_terminal("TERM=xterm NO_COLOR=1").find(escape), std::string::npos);
  EXPECT_EQ(on_terminal("TERM=dumb").find(escape), std::string::npos);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

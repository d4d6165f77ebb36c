// An installation in another place than it was made for: its commands, the files that come with it, man pages
// and completion.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Installation : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto made = line_.shell("cmake --install '" + testing::build_folder() +
                                  "' --prefix made && mv made moved && mkdir empty");
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }
  /// In a folder without files.
  CommandResult installed(const std::string& words) const {
    return line_.shell("cd empty && ../moved/bin/tandem " + words);
  }
  CommandLine line_;
};
using LongInstallation = Installation;

TEST_F(LongInstallation, RunsShippedExperimentsFromAnywhere) {
  const std::string few =
      " --variant bsp --set workload.math=modelled --set stop.rounds=3 --set run.devices=emulated";
  for (const std::string command : {"simulate", "run"}) {
    const auto result =
        installed(command + " workloads/experiments/mixed_lab.yaml" + few + " --out " + command);
    ASSERT_EQ(result.exit_code, 0) << result.output;
    EXPECT_TRUE(std::filesystem::exists(line_.folder() / "empty" / command / "summary.json"));
  }
  // The library with libtorch is part of it.
  const auto real = installed(
      "run workloads/experiments/mixed_lab.yaml --variant bsp --set workload.dataset=synthetic --set "
      "workload.math=real --set workload.train_samples=200 --set workload.test_samples=20 --set "
      "stop.rounds=2 --out real");
  EXPECT_EQ(real.exit_code, 0) << real.output;
  const auto shown = installed("show platforms/mixed_lab.xml");
  EXPECT_EQ(shown.exit_code, 0) << shown.output;
  EXPECT_NE(shown.output.find("moved/share/tandem/platforms/mixed_lab.xml"), std::string::npos)
      << shown.output;
  const auto missing = installed("simulate workloads/experiments/none.yaml");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.output.find("none.yaml"), std::string::npos);
}

TEST_F(LongInstallation, NamesNoFolderOfTheBuild) {
  for (const char* program : {"tandem", "tandem-rank"}) {
    const auto paths = line_.shell(std::string("readelf -d moved/bin/") + program);
    EXPECT_EQ(paths.output.find(testing::build_folder()), std::string::npos) << paths.output;
  }
}

TEST_F(LongInstallation, HasAPageForEveryCommand) {
  for (const char* page : {"tandem", "tandem-run", "tandem-study-merge"})
    EXPECT_TRUE(
        std::filesystem::exists(line_.folder() / "moved/share/man/man1" / (std::string(page) + ".1")));
  EXPECT_NE(line_.shell("cat moved/share/man/man1/tandem-run.1").output.find("\\-\\-hosts"),
            std::string::npos);
  if (line_.shell("command -v groff").exit_code != 0) GTEST_SKIP() << "groff is not installed";
  const auto warnings = line_.shell(
      "for page in moved/share/man/man1/*.1; do groff -man -Tutf8 -ww $page 2>&1 > /dev/null; done");
  EXPECT_EQ(warnings.output, "");
}

TEST_F(LongInstallation, CompletesCommandsOptionsAndFiles) {
  line_.write("job.yaml", "");
  line_.write("job.txt", "");
  const auto completed = [&](const std::string& words, int number) {
    return line_
        .shell("bash -c 'source moved/share/bash-completion/completions/tandem; COMP_WORDS=(tandem " + words +
               "); COMP_CWORD=" + std::to_string(number) + "; _tandem; echo ${COMPREPLY[@]}'")
        .output;
  };
  EXPECT_EQ(completed("valid", 1), "validate\n");
  EXPECT_EQ(completed("run --hostf", 2), "--hostfile\n");
  EXPECT_EQ(completed("run job", 2), "job.yaml\n");
  EXPECT_EQ(completed("cluster do", 2), "down\n");
  EXPECT_EQ(completed("help-f", 1), "\n") << "not for users";
}

TEST_F(LongInstallation, CompletesForZshToo) {
  const std::string file = "moved/share/zsh/site-functions/_tandem";
  EXPECT_TRUE(line_.shell("head -1 " + file).output == "#compdef tandem\n");
  if (line_.shell("command -v zsh").exit_code != 0) GTEST_SKIP() << "zsh is not installed";
  // zsh itself picks those that begin with the current word.
  const auto offered = [&](const std::string& words, int current) {
    return line_
        .shell("zsh -fc 'compadd() { shift; print -r -- $@ }; _files() { print files }; words=(tandem " +
               words + "); CURRENT=" + std::to_string(current) + "; source " + file + "'")
        .output;
  };
  EXPECT_NE(offered("val", 2).find(" validate "), std::string::npos);
  EXPECT_EQ(offered("val", 2).find("help-files"), std::string::npos) << "not for users";
  EXPECT_NE(offered("run --hostf", 3).find("--hostfile"), std::string::npos);
  EXPECT_EQ(offered("run --hostfile h", 4), "files\n");
  EXPECT_NE(offered("cluster do", 3).find("down"), std::string::npos);
  EXPECT_NE(offered("run job", 3).find("files"), std::string::npos);
}

TEST_F(LongInstallation, TellsItsVersions) {
  const auto versions = installed("--version");
  for (const char* part : {"tandem ", "build: ", "SimGrid ", "MPI: ", "libtorch: ", "CUDA: "})
    EXPECT_NE(versions.output.find(part), std::string::npos) << part << versions.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

// Result directories are written by one job at a time, and printing a launch command changes nothing in them.
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

namespace fs = std::filesystem;

class DirectoryUse : public ::testing::Test {
 protected:
  /// Another process of this machine holds the lock meanwhile.
  CommandResult while_held(const std::string& lock_file, const std::string& words) const {
    return line_.shell("mkdir -p $(dirname " + lock_file + "); exec 7> " + lock_file +
                       "; flock 7; echo \"$$ a job of the test\" >&7; \"$TANDEM\" " + words);
  }
  void is_refused(const std::string& lock_file, const std::string& words) const {
    const auto result = while_held(lock_file, words);
    EXPECT_EQ(result.exit_code, 2) << words << '\n' << result.output;
    EXPECT_NE(result.output.find("in use by process "), std::string::npos) << words << '\n' << result.output;
    EXPECT_NE(result.output.find("(a job of the test)"), std::string::npos) << words << '\n' << result.output;
  }
  /// Names, sizes and times of all files below a folder.
  std::string listing(const std::string& folder) const {
    return line_.shell("find " + folder + " -printf '%p %s %T@\\n' | sort").output;
  }
  bool has(const std::string& name) const { return fs::exists(line_.folder() / name); }

  CommandLine line_;
};
using LongDirectoryUse = DirectoryUse;

TEST_F(DirectoryUse, EveryCommandThatWritesRefusesADirectoryInUse) {
  const std::string job = line_.experiment("evaluate_every: 3\n");
  for (const std::string command : {"simulate ", "run ", "study ", "validate "}) {
    is_refused("out/LOCK", command + job + " --out out");
    is_refused("out/LOCK", command + job + " --out out --force");
  }
  is_refused("profile.json.lock", "calibrate " + job + " --force");
  is_refused("profile.json.lock", "calibrate " + job + " --print-command");
  ASSERT_EQ(line_.tandem("simulate " + job + " --out first").exit_code, 0);
  is_refused("first/LOCK", "simulate --resume first --set stop.rounds=9");
  line_.write("suite/INCOMPLETE", "");
  is_refused("suite/LOCK", "validate --resume " + job + " --out suite");
}

TEST_F(DirectoryUse, ForceDeletesNothingBelowWhichAnotherJobWrites) {
  line_.write("study/report.json", "{}");
  is_refused("study/bsp/LOCK", "study " + line_.experiment() + " --out study --force");
  EXPECT_TRUE(has("study/report.json"));
}

/// The second run neither disturbs the first one nor deletes its files; once the first one is killed, it may
/// run.
TEST_F(LongDirectoryUse, TwoRunsInOneDirectory) {
  const std::string words = "run " + line_.experiment() + " --out out --force";
  const auto result = line_.shell(
      "\"$TANDEM\" " + words +
      " --set stop.rounds=1000000 > first.txt 2>&1 & first=$!; "
      "for i in $(seq 300); do grep -q tandem-rank out/LOCK 2> /dev/null && break; sleep 0.1; done; "
      "\"$TANDEM\" " +
      words +
      "; echo second ended with $?; kill -0 $first && echo first runs; "
      "kill -9 $first; wait $first; "
      "for i in $(seq 100); do \"$TANDEM\" " +
      words +
      " > third.txt 2>&1; third=$?; "
      "[ $third -ne 2 ] && break; grep -q 'in use' third.txt || break; sleep 0.2; done; "
      "cat third.txt; echo third ended with $third");
  for (const char* text : {"in use by process", "--set stop.rounds=1000000)", "second ended with 2",
                           "first runs", "third ended with 0"})
    EXPECT_NE(result.output.find(text), std::string::npos) << text << '\n' << result.output;
  EXPECT_TRUE(has("out/summary.json"));
  EXPECT_FALSE(has("out/LOCK"));
}

TEST_F(LongDirectoryUse, PrintingACommandChangesNothingInTheDirectory) {
  const std::string words = "run " + line_.experiment() + " --out out";
  ASSERT_EQ(line_.tandem(words).exit_code, 0);
  const std::string before = listing("out");
  const auto printed = line_.tandem(words + " --print-command --force");
  EXPECT_EQ(printed.exit_code, 0) << printed.output;
  EXPECT_EQ(listing("out"), before);
  EXPECT_EQ(line_.tandem(words + " --print-command").exit_code, 2);
  EXPECT_EQ(line_.tandem("run " + line_.experiment() + " --out new/ --print-command").exit_code, 0);
  EXPECT_FALSE(has("new"));
  EXPECT_TRUE(has("new.job.json"));
}

TEST_F(LongDirectoryUse, ThePrintedCommandCreatesTheDirectory) {
  const std::string words = "run " + line_.experiment() + " --out out --print-command";
  const auto result = line_.shell("\"$TANDEM\" " + words + " > launch && sh launch");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const char* file : {"out/summary.json", "out/job.json"}) EXPECT_TRUE(has(file)) << file;
  for (const char* file : {"out/INCOMPLETE", "out/LOCK"}) EXPECT_FALSE(has(file)) << file;
  // Lines that only the launcher understands.
  for (const char* text : {"status: ", "progress "})
    EXPECT_EQ(result.output.find(text), std::string::npos) << result.output;
  const auto again = line_.shell("sh launch");
  EXPECT_NE(again.exit_code, 0);
  EXPECT_NE(again.output.find("--force"), std::string::npos) << again.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

// The first program (examples/), the tutorial (workloads/experiments/README.md), the questions of
// cli/how_to.md and pages of workloads/: writes their files and runs their commands, as a reader would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using ::testing::HasSubstr;

/// For mpirun.
const std::string as_root_on_few_cores =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1; ";

/// What commands with these words print: the time of a simulated round trip in closed form, two ways of two
/// cables of 25 us and a megabyte over 1.25 GB/s each.
const std::pair<const char*, const char*> printed[] = {
    {"ping_pong_simulated", "1000000 bytes there and back: 1.7 ms, counted 20 times"},
    {"ping_pong_measured", "ms, counted 20 times"}};

/// A fenced block: "```sh", or "```yaml NAME" for a file to be saved.
struct Block {
  std::string language;
  std::string file;
  std::string text;
};

std::vector<Block> blocks_of(const std::string& path) {
  std::vector<Block> blocks;
  std::ifstream page(path);
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    const bool fence = line.starts_with("```");
    if (fence && !inside) {
      std::istringstream words(line.substr(3));
      Block& block = blocks.emplace_back();
      words >> block.language >> block.file;
    }
    if (inside && !fence) blocks.back().text += line + '\n';
    if (fence) inside = !inside;
  }
  return blocks;
}

/// Of a job of 30 or 90 rounds a fifth: the commands are the same.
std::string with_fewer_rounds(const std::string& text) {
  return std::regex_replace(std::regex_replace(text, std::regex("rounds: 30\\b"), "rounds: 6"),
                            std::regex("rounds: 90\\b"), "rounds: 18");
}

/// In the order of the page, in one folder that looks like the top folder of the tree. Returns the number of
/// commands.
int run_commands_of(const std::string& page) {
  const CommandLine line;
  line.shell("mkdir -p build && ln -s " + testing::build_folder() + " build/release; for f in platforms " +
             "validation workloads; do ln -s " + testing::source_folder() + "/$f .; done");
  int commands = 0;
  for (const Block& block : blocks_of(testing::source_folder() + page)) {
    if (!block.file.empty()) line.write(block.file, with_fewer_rounds(block.text));
    if (block.language != "sh") continue;
    std::istringstream lines(block.text);
    for (std::string command; std::getline(lines, command); ++commands) {
      const bool is_ours = command.starts_with("tandem ");
      const auto result = is_ours ? line.tandem(command.substr(std::string("tandem ").size()))
                                  : line.shell(as_root_on_few_cores + command);
      // A verdict on a busy machine need not be "passed".
      const bool has_verdict = command.starts_with("tandem validate ") && result.exit_code == 1;
      EXPECT_TRUE(result.exit_code == 0 || has_verdict) << command << '\n' << result.output;
      for (const auto& [words, output] : printed) {
        if (command.find(words) == std::string::npos) continue;
        EXPECT_THAT(result.output, HasSubstr(output));
      }
    }
  }
  return commands;
}

TEST(Tutorial, TheFirstProgramRunsInBothWorlds) {
  EXPECT_EQ(run_commands_of("/tests/examples/README.md"), 2);
}

TEST(LongTutorial, EveryCommandWorks) { EXPECT_GE(run_commands_of("/workloads/experiments/README.md"), 9); }

TEST(LongTutorial, EveryQuestionHasACommandThatWorks) { EXPECT_EQ(run_commands_of("/cli/how_to.md"), 33); }

TEST(LongTutorial, EveryCommandOfThePagesOfJobsWorks) {
  for (const char* page : {"data/caches", "job/several_jobs", "membership/departures",
                           "checkpoint/checkpoints", "experiments/pytorch"})
    EXPECT_GE(run_commands_of("/workloads/" + std::string(page) + ".md"), 2) << page;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

// The tutorial (workloads/experiments/README.md) and the questions of cli/how_to.md: writes their files and
// runs their commands, as a reader would.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

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

/// In the order of the page, in one folder. Returns the number of commands.
int run_commands_of(const std::string& page) {
  const CommandLine line;
  int commands = 0;
  for (const Block& block : blocks_of(testing::source_folder() + page)) {
    if (!block.file.empty()) line.write(block.file, block.text);
    if (block.language != "sh") continue;
    std::istringstream lines(block.text);
    for (std::string command; std::getline(lines, command); ++commands) {
      EXPECT_TRUE(command.starts_with("tandem ")) << command;
      const auto result = line.tandem(command.substr(std::string("tandem ").size()));
      // A verdict on a busy machine need not be "passed".
      const bool has_verdict = command.starts_with("tandem validate ") && result.exit_code == 1;
      EXPECT_TRUE(result.exit_code == 0 || has_verdict) << command << '\n' << result.output;
    }
  }
  return commands;
}

TEST(LongTutorial, EveryCommandWorks) { EXPECT_GE(run_commands_of("/workloads/experiments/README.md"), 9); }

TEST(LongTutorial, EveryQuestionHasACommandThatWorks) { EXPECT_EQ(run_commands_of("/cli/how_to.md"), 20); }

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

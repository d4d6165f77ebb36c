// Every example in the help of every command works, and messages begin with the name of the command.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using Texts = std::vector<std::string>;

/// How an example is tried.
enum class Trial { as_written, with_cheap_settings, names_only, parsed_only, not_tried };

class Help : public ::testing::Test {
 protected:
  Help() {
    line_.shell("mkdir results; for f in workloads platforms validation; do ln -s " +
                testing::source_folder() + "/$f .; done");
  }
  /// Names of the commands in a help text: the lines after "Subcommands:".
  Texts commands_in(const std::string& help) const {
    Texts names;
    std::istringstream lines(help);
    bool inside = false;
    static const std::regex entry(R"(  (\w+) .*)");
    std::smatch parts;
    for (std::string line; std::getline(lines, line);) {
      if (line == "Subcommands:")
        inside = true;
      else if (line.empty())
        inside = false;
      else if (inside && std::regex_match(line, parts, entry))
        names.push_back(parts[1]);
    }
    return names;
  }
  /// The lines "  tandem WORDS", without the remark that may follow after several spaces.
  Texts examples_in(const std::string& help) const {
    Texts examples;
    std::istringstream lines(help);
    static const std::regex example(R"(  tandem (\S+(?: \S+)*)(?:  .*)?)");
    std::smatch parts;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_match(line, parts, example)) examples.push_back(parts[1]);
    return examples;
  }
  std::string help_of(const std::string& command) const {
    const auto result = line_.tandem(command + " --help");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.output;
  }
  /// All examples, each once.
  std::set<std::string> examples() const {
    std::set<std::string> all;
    const auto add = [&](const std::string& help) {
      for (const auto& example : examples_in(help)) all.insert(example);
    };
    const std::string main = help_of("");
    add(main);
    for (const auto& command : commands_in(main)) {
      const std::string help = help_of(command);
      EXPECT_FALSE(examples_in(help).empty()) << command << " has no example";
      add(help);
      for (const auto& below : commands_in(help)) add(help_of(command + " " + below));
    }
    return all;
  }
  CommandLine line_;
};
using LongHelp = Help;

/// What an example needs that a test does not have: a result of another command, a tool of the machine, or
/// minutes. These are only checked for known options: with a file that is missing.
Trial trial_of(const std::string& example) {
  const auto begins = [&](const char* text) { return example.starts_with(text); };
  // It would remove the clusters of tests that run meanwhile.
  if (begins("cluster down")) return Trial::not_tried;
  // Each would write the same folder, or pack photographs that nobody has here.
  if (begins("data pack") && example.find("--shard-size") == std::string::npos) return Trial::not_tried;
  if (begins("data pack")) return Trial::as_written;
  // Training jobs need no file.
  if (begins("cache ") && example.find("--epochs") != std::string::npos) return Trial::as_written;
  if (begins("show") || begins("predict") || begins("plan workloads") || begins("list") || begins("clean") ||
      begins("init") || begins("record"))
    return Trial::as_written;
  if (example.find("--resume") != std::string::npos || example.find("profile.json") != std::string::npos ||
      example.find("tables.json") != std::string::npos || begins("compare") || begins("evaluate") ||
      begins("study merge") || begins("fit") || begins("cache ") || begins("view") || begins("report") ||
      begins("cluster") || begins("import") || example.find(" job.yaml") != std::string::npos ||
      begins("calibrate") || begins("discover") || example.find("--cluster") != std::string::npos ||
      example.find("--hosts") != std::string::npos)
    return Trial::parsed_only;
  if (begins("simulate") || begins("run")) return Trial::with_cheap_settings;
  return Trial::names_only;
}

TEST_F(LongHelp, EveryExampleWorks) {
  const auto all = examples();
  EXPECT_GT(all.size(), 20U);
  int tried = 0;
  for (const auto& example : all) {
    std::string words = example;
    int expected = 0;
    switch (trial_of(example)) {
      case Trial::not_tried:
        continue;
      case Trial::as_written:
        break;
      case Trial::with_cheap_settings:
        words +=
            " --set workload.math=modelled --set stop.rounds=2 --set run.devices=emulated --force --out out";
        break;
      case Trial::names_only:
        words += " --list";
        break;
      case Trial::parsed_only:
        // Bad input, and not an unknown option: the parser reports that first.
        words =
            std::regex_replace(words, std::regex(R"((workloads|platforms|validation|results)/)"), "none/");
        expected = 2;
        break;
    }
    const auto result = line_.tandem(words);
    EXPECT_EQ(result.exit_code, expected) << example << '\n' << result.output;
    EXPECT_EQ(result.output.find("--help"), std::string::npos) << example << '\n' << result.output;
    EXPECT_EQ(result.output.find("progress 0."), std::string::npos) << example << '\n' << result.output;
    ++tried;
  }
  EXPECT_GT(tried, 20);
}

TEST_F(Help, ArgumentErrorsNameTheCommand) {
  const std::vector<std::pair<std::string, std::string>> errors = {
      {"simulate x.yaml --fast", "tandem simulate: "},
      {"validate x.yaml --tolerance 0", "tandem validate: "},
      {"cluster up", "tandem cluster up: "},
      {"cluster", "tandem cluster: "},
      {"--fast", "tandem: "}};
  for (const auto& [words, beginning] : errors) {
    const auto result = line_.tandem(words);
    EXPECT_EQ(result.exit_code, 2) << words;
    EXPECT_TRUE(result.output.starts_with(beginning)) << words << '\n' << result.output;
  }
}

/// Before anything is computed.
TEST_F(Help, ADirectoryThatCannotBeWrittenIsNamed) {
  for (const std::string command : {"simulate", "run", "study", "validate"}) {
    const auto result = line_.tandem(command + " " + line_.experiment() + " --out /dev/null/out");
    EXPECT_EQ(result.exit_code, 70) << result.output;
    EXPECT_NE(result.output.find("tandem: /dev/null/out: expected a directory that can be written"),
              std::string::npos)
        << result.output;
    EXPECT_EQ(result.output.find("calibrating"), std::string::npos) << result.output;
  }
  for (const std::string words : {" --out /dev/null/p.json", " --out p.json --platform /dev/null/p.xml"}) {
    const auto result = line_.tandem("calibrate " + line_.experiment() + " --set workload.math=real" + words);
    EXPECT_EQ(result.exit_code, 70) << result.output;
    EXPECT_NE(result.output.find("expected a place that can be written"), std::string::npos) << result.output;
  }
}

TEST_F(Help, TruncatedJsonNamesFileAndLine) {
  ASSERT_EQ(line_.tandem("simulate " + line_.experiment("evaluate_every: 3\n") + " --out first").exit_code,
            0);
  line_.shell(
      "for f in run job; do head -c 300 first/$f.json > cut && cp cut first/$f.json; done; echo '{' > "
      "p.json");
  const auto names = [&](const std::string& words, const std::string& place) {
    const auto result = line_.tandem(words);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_TRUE(std::regex_search(result.output, std::regex(place + ":\\d+:\\d+: expected ")))
        << result.output;
  };
  names("compare first first", "first/run.json");
  names("simulate --resume first --out second", "first/job.json");
  names("simulate " + line_.experiment() +
            " --set physics.profile=p.json --set physics.network=profile --out third",
        "p.json");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

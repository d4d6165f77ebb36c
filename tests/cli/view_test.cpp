// `tandem view` and `tandem report` as a user sees them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return rest_of(file);
}

class View : public ::testing::Test {
 protected:
  View() { experiment_ = line_.experiment("variants:\n  bsp: {}\n  asp: {sync.algorithm: asp}\n"); }

  void simulate(const std::string& variant, const std::string& out) {
    const auto result = line_.tandem("simulate " + experiment_ + " --variant " + variant + " --out " + out);
    ASSERT_EQ(result.exit_code, 0) << result.output;
  }
  void expect(const CommandResult& result, int exit_code, const std::vector<std::string>& parts) {
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    for (const auto& part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
  }

  CommandLine line_;
  std::string experiment_;
};

TEST_F(View, ShowsAllResultsBelowAFolder) {
  simulate("bsp", "all/one");
  simulate("asp", "all/deeper/two");
  fs::create_directories(line_.folder() / "all/broken");
  line_.write("all/broken/summary.json", "{");
  line_.write("all/broken/run.json", "{");
  fs::copy(line_.folder() / "all/one", line_.folder() / "all/unfinished");
  line_.write("all/unfinished/INCOMPLETE", "");
  expect(line_.tandem("view all"), 0,
         {"one ", "deeper/two ", "simulated", "samples/s", "all/index.html",
          "skipped broken: ", "broken/run.json", "skipped unfinished: the job has not ended"});
  const std::string page = contents(line_.folder() / "all/index.html");
  for (const char* part : {"deeper/two", "\"throughput\":", "the job has not ended"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  expect(line_.tandem("view all/one"), 0, {"simulated"});
}

TEST_F(View, WithoutResultsSaysWhatItExpected) {
  expect(line_.tandem("view nowhere"), 2,
         {"nowhere: expected a folder with result directories, found nothing"});
  fs::create_directories(line_.folder() / "empty");
  expect(line_.tandem("view empty"), 2, {"empty: expected result directories", "found none"});
  EXPECT_FALSE(fs::exists(line_.folder() / "empty/index.html"));
}

TEST_F(View, AReportIsWrittenAgain) {
  ASSERT_EQ(line_.tandem("study " + experiment_ + " --out out --results").exit_code, 0);
  const std::string before = contents(line_.folder() / "out/report.html");
  for (const char* page : {"report.html", "report.md"}) fs::remove(line_.folder() / "out" / page);
  expect(line_.tandem("report out"), 0, {"asp", "out/report.html"});
  EXPECT_EQ(contents(line_.folder() / "out/report.html"), before);
  EXPECT_TRUE(fs::exists(line_.folder() / "out/report.md"));
  // The results that the study kept are also results to view, and their rows link to the report.
  expect(line_.tandem("view out"), 0, {"asp", "bsp"});
  EXPECT_NE(contents(line_.folder() / "out/index.html").find("\"report\":\"report.html\""),
            std::string::npos);
}

TEST_F(View, AReportThatCannotBeWrittenAgainIsRefused) {
  simulate("bsp", "one");
  expect(line_.tandem("report one"), 2,
         {"one: expected a directory that `tandem validate`", "`tandem view` shows"});
  line_.write("one/report.json", R"({"schema_version": 1, "title": "old"})");
  expect(line_.tandem("report one"), 2, {"one/report.json: schema_version: expected", "found 1", "--resume"});
  line_.write("one/report.json", R"({"schema_version": 6, "kind": "study"})");
  expect(line_.tandem("report one"), 2, {"one/report.json", "title"});
  line_.write("one/report.json", R"({"schema_version")");
  expect(line_.tandem("report one"), 2, {"one/report.json"});
  EXPECT_FALSE(fs::exists(line_.folder() / "one/report.html"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

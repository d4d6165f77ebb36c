// `tandem cache` as a user sees it: the ratios of a small trace, the files that it writes, and its errors.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace {

class Cache : public ::testing::Test {
 protected:
  Cache() { line_.write("trace.csv", "1,10\n2,10\n3,10\n1,10\n2,10\n4,30\n1,10\n2,10\n"); }
  CommandLine line_;
};

TEST_F(Cache, PrintsTheRatiosOfEveryPolicyAndSize) {
  const auto result = line_.tandem("cache trace.csv csv lru,belady 20,0.5 --csv out.csv --json 2> /dev/null");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto document = nlohmann::json::parse(result.output);
  EXPECT_EQ(document.at("requests"), 8);
  EXPECT_EQ(document.at("objects"), 4);
  EXPECT_EQ(document.at("working_set_bytes"), 60);
  const auto& results = document.at("results");
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].at("policy"), "lru");
  EXPECT_EQ(results[0].at("capacity_bytes"), 20);
  EXPECT_DOUBLE_EQ(results[0].at("miss_ratio"), 0.75)
      << "4 is too large for it, so the last two requests hit";
  EXPECT_DOUBLE_EQ(results[0].at("byte_miss_ratio"), 0.8);
  EXPECT_EQ(results[1].at("capacity_bytes"), 30);
  EXPECT_DOUBLE_EQ(results[2].at("miss_ratio"), 0.5) << "3 is bypassed";
  EXPECT_EQ(line_.shell("wc -l < out.csv").output, "5\n");
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out.csv.unfinished"));
}

TEST_F(Cache, TakesOptionsOfPolicies) {
  const auto two = line_.tandem("cache trace.csv csv slru 40 -e slru.segments=2 --json 2> /dev/null").output;
  EXPECT_EQ(nlohmann::json::parse(two).at("results")[0].at("options").at("segments"), "2");
}

TEST_F(Cache, BadInputIsRefused) {
  const auto refuses = [&](const std::string& words, const std::vector<std::string>& parts) {
    const auto result = line_.tandem("cache " + words);
    EXPECT_EQ(result.exit_code, 2) << words << '\n' << result.output;
    for (const auto& part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
  };
  refuses("trace.csv csv lur 10", {"'lur'", "did you mean 'lru'"});
  refuses("trace.csv csv lru 0", {"at least one byte", "'0'"});
  refuses("trace.csv csv lru 10x", {"100k", "'10x'"});
  refuses("trace.csv csv lru ''", {"auto", "''"});
  refuses("trace.csv csv lru 10 -t id-cool=1", {"id-col=NUMBER", "'id-cool=1'"});
  refuses("trace.csv csv lru 10 -t id-col=0", {"column from 1", "'0'"});
  refuses("trace.csv csv slru 10 -e segments=2", {"POLICY.OPTION=VALUE"});
  refuses("trace.csv csv slru 10 -e slru.segments=many", {"segments", "integer", "many"});
  refuses("trace.csv csv slru 10 -e slru.parts=2", {"parts"});
  refuses("nowhere.csv csv lru 10", {"nowhere.csv"});
  EXPECT_NE(line_.tandem("cache trace.csv csv lru 100").output.find("holds the whole working set"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem::testing

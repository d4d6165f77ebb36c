// The keys of experiment files as `tandem show --keys` prints them.
#include "workloads/job/check/describe_keys.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/job/check/catalogues.hpp"

namespace tandem {
namespace TANDEM_FILE {

TEST(Keys, HaveOneLineEach) {
  const std::string text = describe_keys("", true);
  EXPECT_TRUE(text.starts_with("key  ")) << text;
  EXPECT_NE(text.find("list of names  [empty]  "), std::string::npos) << text;
  EXPECT_NE(text.find("integer >= 1 and <= 1000000  [64]  samples per worker and step\n"), std::string::npos)
      << text;
  std::string algorithms;
  for (const auto& name : catalogue_of(Names::sync).names())
    algorithms += (algorithms.empty() ? "" : " | ") + name;
  EXPECT_NE(text.find("  " + algorithms + "  [bsp]  "), std::string::npos) << text;
  EXPECT_NE(text.find("size >= 0 (like 4MiB)  [1MiB]  "), std::string::npos) << text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Keys, OfAPrefixAreListedShortly) {
  EXPECT_EQ(lines_of(describe_keys("warm", false))[1], "warmup_steps  integer >= 0 and <= 1000000000  [2]");
  const auto of_stop = lines_of(describe_keys("stop", false));
  ASSERT_EQ(of_stop.size(), 5U);
  EXPECT_EQ(of_stop[0], "key            accepted values                           [default]");
  EXPECT_EQ(of_stop[1], "stop.rounds    integer >= 0 and <= 1000000000            [0]");
  EXPECT_NE(describe_keys("sync.alg", false).find("name (tandem list sync)  [bsp]\n"), std::string::npos);
  const auto all = lines_of(describe_keys("", false));
  EXPECT_EQ(all.size(), experiment_keys().size() + 3);  // the header, jobs and jobs.NAME.start
  for (const std::string& line : all) EXPECT_LT(line.size(), 160U) << line;
}

/// Also where other keys begin with it, and for an option of a key.
TEST(Keys, AWholeKeyIsExplained) {
  const auto keep = lines_of(describe_keys("checkpoint.keep", false));
  ASSERT_EQ(keep.size(), 2U);
  EXPECT_NE(keep[1].find("number of last commits"), std::string::npos) << keep[1];
  EXPECT_EQ(lines_of(describe_keys("checkpoint.keep_", false)).size(), 2U);
  EXPECT_TRUE(lines_of(describe_keys("sync.options.h", false))[1].starts_with("sync.options  "));
  EXPECT_TRUE(lines_of(describe_keys("jobs", false))[1].starts_with("jobs  map of jobs"));
}

TEST(Keys, APrefixOfNoneIsAnErrorWithTheNearest) {
  try {
    describe_keys("chekpoint.to", false);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "show --keys: unknown key 'chekpoint.to'; did you mean 'checkpoint.to'?");
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem

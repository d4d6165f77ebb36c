// `tandem import` as a user sees it: what it prints, refusals with exit code 2, and bad files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/command.hpp"
#include "tests/workloads/trace/made_trace.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string steps_text(int count, const std::string& top = "") {
  MadeTrace made;
  for (int step = 0; step < count; ++step) made.step(step, 1000 + 100 * step);
  return made.text(top);
}

TEST(Import, PrintsStepsBucketsChecksAndTheBreakdown) {
  const CommandLine line;
  line.write("trace.json", steps_text(6, R"("username": "secret", )"));
  const auto result = line.tandem("import trace.json --layers");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("step 0.100 ms on the GPU, median of 4 that count"),
                    HasSubstr("forward 0.020, backward 0.030, optimiser 0.010 ms"),
                    HasSubstr("AddmmBackward0"), HasSubstr("breakdown (exact, all steps), us: idle 175"),
                    HasSubstr("ok     steps that count: 4"), Not(HasSubstr("secret"))));
  const auto document = line.tandem("import trace.json --json 2> /dev/null");
  const auto rank = json::parse(document.output).at("ranks").at(0);
  EXPECT_EQ(rank.at("step_us"), 100.0);
  EXPECT_EQ(rank.at("buckets").at(0).at("bytes"), 2000);
  EXPECT_EQ(rank.at("refusals"), json::array());
  EXPECT_THAT(line.tandem("import trace.json --breakdown hta").output,
              HasSubstr("as HolisticTraceAnalysis, without the last step), us: idle 140"));
}

TEST(Import, ComparesRanks) {
  const CommandLine line;
  for (const std::string rank : {"0", "1"})
    line.write(rank + ".json",
               steps_text(6, R"("distributedInfo": {"world_size": 2, "rank": )" + rank + "}, "));
  const auto result = line.tandem("import 1.json 0.json");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("0.json: rank 0 of 2"), HasSubstr("1.json: rank 1 of 2"),
                                   HasSubstr("transfer 0.060 ms at most, the rest is waiting")));
  const auto twice = line.tandem("import 0.json 0.json");
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.output, HasSubstr("expected one trace per rank, found two of rank 0"));
}

TEST(Import, RefusesByNameAndSaysHowToRecord) {
  const CommandLine line;
  line.write("empty.json", "[]");
  line.write("cut.json", steps_text(3).substr(0, 40));
  line.write("other.json", "{\"a\": 1}");
  const auto empty = line.tandem("import empty.json");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.output,
              AllOf(HasSubstr("refused (no Kineto)"), HasSubstr("Record with PyTorch from pytorch.org")));
  const auto cut = line.tandem("import cut.json");
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.output, HasSubstr("refused (no GPU)"));
  const auto other = line.tandem("import other.json");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("other.json: expected a trace with \"traceEvents\""));
  EXPECT_EQ(line.tandem("import missing.json").exit_code, 2);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

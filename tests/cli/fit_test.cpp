// `tandem fit lifetimes` as a user sees it: the worked example, comparisons, the model file, and its errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "policies/lifetimes/catalog.hpp"
#include "tests/cli/command.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem::testing {
namespace {

using nlohmann::json;

class FitLifetimes : public ::testing::Test {
 protected:
  FitLifetimes() {
    line_.write("worked.csv",
                "cause,duration\nrevoked,1\nrevoked,2\nstopped,2s\nrevoked,3\nalive,5\nrevoked,8\n");
  }
  json document(const std::string& words) const {
    const auto result = line_.tandem("fit lifetimes " + words + " --json 2> /dev/null");
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
    return json::parse(result.output);
  }
  /// 300 machines in two regions that start every ten minutes.
  std::string regions() const {
    std::string text = "region,device,started,ended,cause,group\n";
    std::uint32_t state = 1;
    for (int i = 0; i < 300; ++i) {
      state = state * 1664525U + 1013904223U;
      const auto minutes = static_cast<int>(1 + state % 600U / (i % 2 == 0 ? 1 : 4));
      const int end = i * 10 + minutes;
      const auto at = [](int minute) {
        const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
        return "2024-05-" + two(1 + minute / 1440) + 'T' + two(minute / 60 % 24) + ':' + two(minute % 60) +
               ":00Z";
      };
      text += std::string(i % 2 == 0 ? "\"west, one\"" : "east") + ",k80," + at(i * 10) + ',' + at(end) +
              (i % 5 == 0   ? ",failed,"
               : i % 7 == 0 ? ",limit,"
                            : ",revoked,") +
              std::to_string(i / 6) + '\n';
    }
    return text;
  }
  CommandLine line_;
};

TEST_F(FitLifetimes, WorkedExample) {
  const json result = document("worked.csv --mean-up-to 6s");
  EXPECT_EQ(result.at("machines"), 6);
  EXPECT_EQ(result.at("revoked"), 4);
  EXPECT_EQ(result.at("censored"), 2);
  ASSERT_EQ(result.at("survival").size(), 4U);
  EXPECT_NEAR(result.at("survival")[2].at("survival"), 4.0 / 9, 1e-12);
  EXPECT_NEAR(result.at("survival")[2].at("error"), .2222, 5e-5);
  EXPECT_TRUE(result.at("survival")[3].at("error").is_null());
  EXPECT_NEAR(result.at("mean_up_to").at("value_s"), 3.8333, 5e-5);
  EXPECT_EQ(result.at("median_s"), 3);
  for (const auto& model : result.at("models"))
    if (model.at("name") == "exponential") {
      EXPECT_NEAR(model.at("options").at("mean"), 21.0 / 4, 1e-3);
    }
  const auto text = line_.tandem("fit lifetimes worked.csv");
  EXPECT_EQ(text.exit_code, 0);
  for (const char* part : {"6 machines: 4 revoked", "median 3.00 s", "AIC", "chosen: "})
    EXPECT_NE(text.output.find(part), std::string::npos) << part << '\n' << text.output;
}

TEST_F(FitLifetimes, ComparesGroups) {
  line_.write("regions.csv", regions());
  const json result = document("regions.csv --by region,device --bootstrap 20");
  ASSERT_EQ(result.at("groups").size(), 2U);
  EXPECT_EQ(result.at("groups")[0].at("values"), json({{"device", "k80"}, {"region", "east"}}));
  EXPECT_EQ(result.at("groups")[1].at("values").at("region"), "west, one");
  EXPECT_LT(result.at("log_rank").at("p_value"), 1e-6);
  EXPECT_EQ(result.at("intervals"), "bootstrap of whole groups");
  EXPECT_GE(result.at("correlation").at("pairs"), 0);
  EXPECT_GT(result.at("correlation").at("expected"), 0.0);
  EXPECT_EQ(document("regions.csv --bootstrap 0").at("intervals"),
            "profile likelihood (bathtub: bootstrap of single machines)");
}

TEST_F(FitLifetimes, TheModelFileIsALifetimeModel) {
  line_.write("regions.csv", regions());
  for (const std::string model :
       {"auto", "empirical", "exponential", "weibull", "early-death", "bathtub", "piecewise"}) {
    const json result = document("regions.csv --by region --bootstrap 0 --out model.json --model " + model);
    const json written = json::parse(line_.shell("cat model.json").output);
    EXPECT_EQ(written.at("name"), result.at("chosen").at("name"));
    EXPECT_EQ(written.at("source").at("machines"), 300);
    ASSERT_EQ(written.at("groups").size(), 2U);
    std::map<std::string, OptionValue> options;
    for (const auto& [name, value] : written.at("options").items()) options[name] = option_from_json(value);
    EXPECT_GT(std::get<double>(options.at("lost")), 0.1) << "the share of failures";
    const auto lifetime = lifetimes::make_lifetime(written.at("name"), options);
    double measured = 1.0;
    for (const auto& step : result.at("survival"))
      if (step.at("time_s") <= 7200.0) measured = step.at("survival");
    EXPECT_NEAR(lifetime->survival(7200.0), measured,
                model == "exponential" || model == "weibull" ? 0.15 : 0.1)
        << model;
  }
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "model.json.unfinished"));
}

TEST_F(FitLifetimes, ParametersWithoutABoundAreWithinTheModel) {
  // Of the machines that lived long, none died: the mean of the late part is infinite.
  line_.write(
      "few.csv",
      "duration,cause\n1h,revoked\n2h,revoked\n24h,limit\n30min,revoked\n13h,alive\n150min,revoked\n");
  document("few.csv --model early-death --out model.json");
  const json written = json::parse(line_.shell("cat model.json").output);
  std::map<std::string, OptionValue> options;
  for (const auto& [name, value] : written.at("options").items()) options[name] = option_from_json(value);
  EXPECT_NEAR(lifetimes::make_lifetime(written.at("name"), options)->survival(86400.0), 1.0 / 3, 0.01);
}

TEST_F(FitLifetimes, OneRowIsEnoughForARate) {
  line_.write("one.csv", "duration,cause\n2h,revoked\n");
  const json result = document("one.csv");
  EXPECT_EQ(result.at("chosen").at("name"), "exponential");
  EXPECT_NEAR(result.at("chosen").at("options").at("mean"), 7200.0, 1.0);
}

TEST_F(FitLifetimes, BadInputIsRefused) {
  const auto refuses = [&](const std::string& text, const std::vector<std::string>& parts,
                           const std::string& words = "") {
    line_.write("bad.csv", text);
    const auto result = line_.tandem("fit lifetimes bad.csv " + words);
    EXPECT_EQ(result.exit_code, 2) << text << '\n' << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
    for (const auto& part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
  };
  refuses("duration,cause\n5,revoked\n-3,revoked\n",
          {"bad.csv:3: duration: expected a time of at least 0", "'-3'"});
  refuses("duration,cause\n5 days,revoked\n", {"bad.csv:2: duration", "90min", "'5 days'"});
  refuses("started,ended,cause\n2024-05-02T00:00:00Z,2024-05-01T00:00:00Z,revoked\n",
          {"bad.csv:2: ended: expected a time after it started, 2024-05-02T00:00:00Z"});
  refuses("started,ended,cause\n2024-05-01T00:00:00+02:00,2024-05-02T00:00:00+02:00,revoked\n",
          {"bad.csv:2: started: expected a time in UTC", "+02:00"});
  refuses(
      "started,ended,cause\n2024-05-01T00:00Z,2024-05-01T01:00Z,revoked\n2024-05-01T00:00,2024-05-01T01:00,"
      "revoked\n",
      {"bad.csv:3: started: expected a time that ends with Z, like those before"});
  refuses("started,ended,cause\n2024-02-30T00:00Z,2024-03-01T01:00Z,revoked\n", {"bad.csv:2: started"});
  refuses("duration,cause\n5,revokd\n",
          {"bad.csv:2: cause: expected revoked, failed", "did you mean 'revoked'"});
  refuses("duration,cause\n5,\n", {"bad.csv:2: cause", "found ''"});
  refuses("duration,cause\n5,alive\n7,stopped\n",
          {"bad.csv: expected at least one machine", "found 2 without"});
  refuses("duration,cause\n", {"bad.csv: expected a header and one row per machine"});
  refuses("lifetime,cause\n5,revoked\n", {"bad.csv:1: expected a column 'duration'"});
  refuses("duration\n5\n", {"bad.csv:1: expected a column 'cause'"});
  refuses("duration,cause\n5\n", {"bad.csv:2: expected 2 fields, found 1"});
  refuses("duration,duration,cause\n5,5,revoked\n", {"bad.csv:1: expected every column once", "'duration'"});
  refuses("duration,cause,region\n5,revoked,\"west\n", {"bad.csv:2: expected a quote"});
  refuses("duration,cause,observed_from\n5,revoked,6\n", {"bad.csv:2: observed_from: expected an age below"});
  refuses("duration,cause,weight\n5,revoked,0\n", {"bad.csv:2: weight: expected a number above 0"});
  refuses("duration,cause,region\n5,revoked,west\n", {"--by", "'regoin'", "did you mean 'region'"},
          "--by regoin");
  refuses("duration,cause\n5,revoked\n9,alive\n", {"--mean-up-to", "the longest observation, 9 s"},
          "--mean-up-to 1h");
  refuses("duration,cause\n5,revoked\n", {"--mean-up-to: expected a time above 0"}, "--mean-up-to soon");
  EXPECT_EQ(line_.tandem("fit lifetimes nowhere.csv").exit_code, 2);
  EXPECT_EQ(line_.tandem("fit lifetimes worked.csv --model gamma").exit_code, 2);
}

TEST_F(FitLifetimes, ListsTheModels) {
  const auto result = line_.tandem("list lifetime");
  EXPECT_EQ(result.exit_code, 0);
  for (const auto& name : lifetimes::catalog().names())
    EXPECT_NE(result.output.find("  " + name + ' '), std::string::npos) << name;
}

}  // namespace
}  // namespace tandem::testing

// `tandem fit lifetimes` as a user sees it: the worked example, comparisons, the model file, and its errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "policies/lifetimes/catalog.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/cli/command.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;

/// Options of the lifetime model of a file that --out wrote.
std::map<std::string, OptionValue> options_of(const json& model) {
  std::map<std::string, OptionValue> options;
  for (const auto& [name, value] : model.at("options").items()) options[name] = option_from_json(value);
  return options;
}

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
using LongFitLifetimes = FitLifetimes;

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

TEST_F(LongFitLifetimes, ComparesGroups) {
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

TEST_F(LongFitLifetimes, TheModelFileIsALifetimeModel) {
  line_.write("regions.csv", regions());
  for (const std::string model :
       {"auto", "empirical", "exponential", "weibull", "early-death", "bathtub", "piecewise"}) {
    const json result = document("regions.csv --by region --bootstrap 0 --out model.json --model " + model);
    const json written = json::parse(line_.shell("cat model.json").output);
    EXPECT_EQ(written.at("name"), result.at("chosen").at("name"));
    EXPECT_EQ(written.at("source").at("machines"), 300);
    ASSERT_EQ(written.at("groups").size(), 2U);
    const auto options = options_of(written);
    EXPECT_GT(std::get<double>(options.at("lost")), 0.1) << "the share of failures";
    const auto lifetime = lifetimes::make_lifetime(written.at("name"), options);
    double measured = 1.0;
    for (const auto& step : result.at("survival"))
      if (step.at("time_s") <= 7200.0) measured = step.at("survival");
    EXPECT_NEAR(lifetime->survival(7200.0), measured,
                model == "exponential" || model == "weibull" ? 0.15 : 0.1)
        << model;
  }
  EXPECT_EQ(line_.shell("ls model.json*").output, "model.json\n") << "nothing unfinished is left";
}

/// No machine of the south departed.
TEST_F(FitLifetimes, AGroupWithoutDeparturesHasTheModelOfAll) {
  line_.write("quiet.csv",
              "region,cause,duration\nnorth,revoked,10\nnorth,revoked,20\nnorth,revoked,40\n"
              "south,alive,50\nsouth,alive,60\n");
  const auto result =
      line_.tandem("fit lifetimes quiet.csv --by region --model exponential --out model.json 2>&1");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(
      result.output.find("region south: too few departures to fit; its model is that of all machines\n"),
      std::string::npos)
      << result.output;
  EXPECT_EQ(result.output.find("region north: too few"), std::string::npos) << result.output;
  const json written = json::parse(line_.shell("cat model.json").output);
  ASSERT_EQ(written.at("groups").size(), 2U);
  const json& south = written.at("groups")[1];
  EXPECT_EQ(south.at("values"), json({{"region", "south"}}));
  EXPECT_EQ(south.at("name"), written.at("name"));
  EXPECT_EQ(south.at("options"), written.at("options"));
  EXPECT_NE(written.at("groups")[0].at("options"), written.at("options"));
}

TEST_F(FitLifetimes, AnExperimentTakesTheModelFile) {
  line_.write("regions.csv", regions());
  document("regions.csv --bootstrap 0 --model weibull --out model.json");
  const json written = json::parse(line_.shell("cat model.json").output);
  const auto result = line_.tandem("show " + line_.experiment("transience: {lifetime: model.json}\n") +
                                   " --json 2> /dev/null");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const json transience = json::parse(result.output).at("transience");
  EXPECT_EQ(transience.at("lifetime"), "weibull");
  EXPECT_EQ(transience.at("options"), written.at("options"));
}

TEST_F(FitLifetimes, APageShowsTheCurves) {
  line_.write("regions.csv", regions());
  const json result = document("regions.csv --by region --bootstrap 0 --model weibull --report curves");
  const json written = json::parse(line_.shell("cat curves/report.json").output);
  EXPECT_EQ(written.at("chosen"), result.at("chosen"));
  for (const auto& model : written.at("models")) {
    EXPECT_EQ(model.at("points").front().at(0), 0.0);
    EXPECT_NEAR(model.at("points").front().at(1).get<double>(), 1.0, 0.05) << model.at("name");
    EXPECT_EQ(model.at("points").back().at(0), result.at("last_s"));
  }
  double departures = 0, hours_of_groups = 0;
  for (const auto& ages : written.at("by_age")) departures += ages.at("deaths").get<double>();
  EXPECT_EQ(departures, written.at("revoked").get<double>() + written.at("failed").get<double>());
  for (const auto& group : written.at("groups"))
    for (const auto& hour : group.at("by_hour").at("hours"))
      hours_of_groups += hour.at("time_s").get<double>();
  EXPECT_NEAR(hours_of_groups, written.at("observed_s"), 1e-3);
  const std::string text = line_.shell("cat curves/report.md").output;
  for (const char* part : {"| all ", "| region west, one ", "| weibull ", "Log-rank test", "| Hour (UTC) |",
                           "  lifetime: piecewise\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  EXPECT_NE(line_.shell("cat curves/report.html").output.find("\"points\":"), std::string::npos);
}

/// In the hours from noon on, 30 machines depart where 10 do before, next to 100 that stay for the hour.
TEST_F(FitLifetimes, TheHourOfTheDayGivesKeysOfAnExperiment) {
  std::string text = "started,duration,cause,weight\n";
  for (int hour = 0; hour < 24; ++hour) {
    const std::string started =
        "2024-05-01T" + std::string(hour < 10 ? "0" : "") + std::to_string(hour) + ":00:00Z,";
    text += started + std::to_string(20 + hour % 12 * 3) + "min,revoked," + (hour < 12 ? "10\n" : "30\n");
    text += started + "1h,stopped,100\n";
  }
  line_.write("hours.csv", text);
  const json found = document("hours.csv").at("by_hour");
  const auto factor = [&](std::size_t hour) { return found.at("hours").at(hour).at("factor").get<double>(); };
  for (std::size_t hour = 0; hour < 12; ++hour) {
    const double dead = 20.0 + static_cast<double>(hour) * 3,
                 ratio = 3 * (6000 + 10 * dead) / (6000 + 30 * dead);
    EXPECT_NEAR(factor(hour + 12) / factor(hour), ratio, 0.08 * ratio) << hour;
  }
  EXPECT_LT(found.at("p_value"), 1e-6);
  const std::string output = line_.tandem("fit lifetimes hours.csv").output;
  EXPECT_NE(output.find("piecewise by hour of the day (UTC): likelihood ratio "), std::string::npos)
      << output;
  const auto begin = output.find("transience:\n");
  ASSERT_NE(begin, std::string::npos) << output;
  const std::string keys = output.substr(begin, output.find("\n\n", begin) + 1 - begin);
  const auto shown = line_.tandem("show " + line_.experiment(keys) + " --json 2> /dev/null");
  ASSERT_EQ(shown.exit_code, 0) << keys << shown.output;
  const json transience = json::parse(shown.output).at("transience");
  EXPECT_EQ(transience.at("lifetime"), "piecewise");
  for (const char* option : {"ends", "rates", "by_hour"})
    EXPECT_EQ(transience.at("options").at(option), found.at("options").at(option));
  const auto without = line_.tandem("fit lifetimes worked.csv");
  EXPECT_EQ(without.output.find("by hour of the day"), std::string::npos) << "no clock";
  std::string same = "started,duration,cause,weight\n";
  for (int age = 1; age <= 12; ++age)
    same += "2024-05-01T10:00:00Z," + std::to_string(age) + "h,revoked,10\n";
  line_.write("same.csv", same);
  const std::string together = line_.tandem("fit lifetimes same.csv").output;
  EXPECT_NE(together.find("piecewise by hour of the day (UTC): inconclusive: "), std::string::npos)
      << together;
  EXPECT_EQ(together.find("by_hour: "), std::string::npos) << together;
}

/// Lifetimes with a mean of 50,000 s that a provider ends after 24 h.
TEST_F(FitLifetimes, EndsAtOneAgeAreALimit) {
  const auto truth = lifetimes::make_lifetime("exponential", {{"mean", 50'000.0}, {"limit", 86'400.0}});
  Rng rng = Rng::stream(3, "limited");
  std::string text = "duration,cause\n";
  int ends = 0;
  for (int i = 0; i < 400; ++i) {
    const double lifetime = truth->draw(rng);
    ends += lifetime == 86'400.0 ? 1 : 0;
    text += std::to_string(lifetime) + ",revoked\n";
  }
  line_.write("day.csv", text);
  for (const std::string model : {"auto", "exponential", "empirical"}) {
    const json result = document("day.csv --out model.json --model " + model);
    EXPECT_EQ(result.at("limit"), json({{"age_s", 86'400.0}, {"ends", static_cast<double>(ends)}}));
    const json written = json::parse(line_.shell("cat model.json").output);
    EXPECT_EQ(written.at("options").at("limit"), 86'400.0) << model;
    const auto lifetime = lifetimes::make_lifetime(written.at("name"), options_of(written));
    EXPECT_GE(lifetime->survival(1.0), 0.98) << model;
    for (const double age : {20'000.0, 50'000.0, 86'000.0})
      EXPECT_NEAR(lifetime->survival(age), truth->survival(age), 0.08) << model << ' ' << age;
    EXPECT_EQ(lifetime->survival(86'400.0), 0.0) << model;
  }
  const auto printed = line_.tandem("fit lifetimes day.csv");
  EXPECT_NE(printed.output.find(std::to_string(ends) + " machines end at 24.0 h: a provider's limit"),
            std::string::npos)
      << printed.output;
  EXPECT_TRUE(document("worked.csv").at("limit").is_null());
}

TEST_F(FitLifetimes, ParametersWithoutABoundAreWithinTheModel) {
  // Of the machines that lived long, none died: the mean of the late part is infinite.
  line_.write(
      "few.csv",
      "duration,cause\n1h,revoked\n2h,revoked\n24h,limit\n30min,revoked\n13h,alive\n150min,revoked\n");
  document("few.csv --model early-death --out model.json");
  const json written = json::parse(line_.shell("cat model.json").output);
  const auto options = options_of(written);
  EXPECT_NEAR(lifetimes::make_lifetime(written.at("name"), options)->survival(86400.0), 1.0 / 3, 0.01);
}

/// q^(k-1) (1 - q) is the probability of a departure in hour k, with q = e^(-hour/mean).
TEST_F(FitLifetimes, DeparturesMayBeKnownByTheHourOnly) {
  line_.write(
      "hours.csv",
      "alive_at,duration,cause\n0,1h,revoked\n0,1h,revoked\n1h,2h,revoked\n3h,4h,failed\n,4h,alive\n");
  const json result = document("hours.csv --model exponential");
  EXPECT_EQ(result.at("in_interval"), 4);
  const double lived = 0 + 0 + 1 + 3 + 4, q = lived / (lived + 4);
  EXPECT_NEAR(result.at("chosen").at("options").at("mean"), -3600.0 / std::log(q), 1.0);
  EXPECT_NEAR(result.at("survival")[0].at("survival"), 3.0 / 5, 1e-12) << "the curve, at the end of the hour";
  const auto text = line_.tandem("fit lifetimes hours.csv");
  EXPECT_NE(text.output.find("of 4 departures only an interval is known"), std::string::npos) << text.output;
}

/// Lifetimes: a 10 s and later 60 s, when it is alive at the end; b 20 s, c 30 s; old was there before.
const char* const events =
    "node,time,event,zone\na,0,add,west\nb,0,add,east\na,8,warn,west\na,10,remove,west\nold,15,remove,east\n"
    "b,20,remove,east\na,40,add,west\nc,70,add,west\nc,100,remove,west\n";

TEST_F(FitLifetimes, EventsOfNodesAreLifetimes) {
  line_.write("events.csv", events);
  const json result = document("events.csv --by zone");
  EXPECT_EQ(result.at("machines"), 5);
  EXPECT_EQ(result.at("revoked"), 1) << "with a warning";
  EXPECT_EQ(result.at("failed"), 3);
  EXPECT_EQ(result.at("censored"), 1);
  EXPECT_EQ(result.at("observed_s"), 10 + 20 + 15 + 30 + 60);
  EXPECT_EQ(result.at("groups").size(), 2U);
  EXPECT_FALSE(result.at("correlation").is_null());
  const auto text = line_.tandem("fit lifetimes events.csv");
  EXPECT_NE(text.output.find("there before the first event, so that their ages count from it: 1"),
            std::string::npos)
      << text.output;
}

TEST_F(FitLifetimes, EventsAreReplayed) {
  line_.write("events.csv", events);
  const json result = document("events.csv --model trace --out model.json");
  EXPECT_EQ(result.at("source").at("departures"), 4);
  const json written = json::parse(line_.shell("cat model.json").output);
  ASSERT_EQ(written.at("name"), "trace");
  const auto fates = lifetimes::make_fates("trace", options_of(written), 1, {0, 0, 0, 0});
  fates->arrive({0, 1}, 0.0);
  EXPECT_EQ(fates->next(), (lifetimes::Departure{10.0, {0, 1}, lifetimes::How::revoked}));
  EXPECT_EQ(fates->obtainable(0, 10.0), 40.0);
  const auto text = line_.tandem("fit lifetimes events.csv --model trace");
  EXPECT_NE(text.output.find("4 nodes in 1.67 min: 4 arrivals, 4 departures, 1 warnings"), std::string::npos)
      << text.output;
}

TEST_F(FitLifetimes, CapacityIsReplayed) {
  line_.write("capacity.json", R"({"metadata": {"gap_seconds": 600, "zone": "west"}, "data": [4, 4, 1, 3]})");
  const json result = document("capacity.json --out model.json");
  EXPECT_EQ(result.at("source").at("counts"), 4);
  const json written = json::parse(line_.shell("cat model.json").output);
  ASSERT_EQ(written.at("name"), "capacity-trace");
  const auto fates = lifetimes::make_fates("capacity-trace", options_of(written), 1, {0, 0});
  fates->arrive({0, 1}, 0.0);
  fates->arrive({1, 1}, 0.0);
  EXPECT_EQ(fates->next(), (lifetimes::Departure{1200.0, {1, 1}, lifetimes::How::revoked}));
  fates->depart(1, 1200.0);
  EXPECT_EQ(fates->obtainable(1, 1200.0), 1800.0);
  const auto text = line_.tandem("fit lifetimes capacity.json");
  EXPECT_NE(text.output.find("4 counts in 40.0 min, from 1 to 4 machines"), std::string::npos) << text.output;
}

class FitLifetimesErrors : public FitLifetimes {
 protected:
  void refuses(const std::string& text, const std::vector<std::string>& parts, const std::string& words = "",
               const std::string& file = "bad.csv") const {
    line_.write(file, text);
    const auto result = line_.tandem("fit lifetimes " + file + ' ' + words);
    EXPECT_EQ(result.exit_code, 2) << text << '\n' << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
    for (const auto& part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
  }
};
using LongFitLifetimesErrors = FitLifetimesErrors;

TEST_F(FitLifetimesErrors, OfTablesOfLifetimes) {
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
  refuses("duration,cause,region\n5,revoked,west\n6,revoked,west\n",
          {"--by", "'regoin'", "did you mean 'region'"}, "--by regoin");
  refuses("duration,cause\n5,revoked\n9,alive\n", {"--mean-up-to", "the longest observation, 9 s"},
          "--mean-up-to 1h");
  refuses("duration,cause\n5,revoked\n", {"--mean-up-to: expected a time above 0"}, "--mean-up-to soon");
  refuses("duration,cause\n5,revoked\n", {"bad.csv: expected at least two machines, found 1"});
  refuses("duration,cause,alive_at\n5,revoked,5\n", {"bad.csv:2: alive_at: expected an age below", "'5'"});
  refuses("duration,cause,alive_at\n5,alive,4\n",
          {"bad.csv:2: alive_at: expected nothing, because the machine did not depart", "'4'"});
  refuses("duration,cause\n5,revoked\n5,revoked\n9,alive\n",
          {"bad.csv: --model empirical: expected departures that give a finite mean lifetime"},
          "--model empirical");
  refuses("", {"bad.csv: expected a table of lifetimes or of events with a header, found no line"});
  refuses("duration,cause\n5,revoked\n9,alive\n", {"--model", "the file has no events", "'trace'"},
          "--model trace");
  refuses("duration,cause\n5,revoked\n9,alive\n", {"--model", "no numbers of machines"},
          "--model capacity-trace");
  EXPECT_EQ(line_.tandem("fit lifetimes nowhere.csv").exit_code, 2);
  EXPECT_EQ(line_.tandem("fit lifetimes worked.csv --model gamma").exit_code, 2);
}

TEST_F(LongFitLifetimesErrors, OfEvents) {
  const std::string header = "time,event,node\n";
  refuses(header + "5,add,a\n3,remove,a\n", {"bad.csv:3: time: expected events in the order of time", "'3'"});
  refuses(header + "-5,add,a\n", {"bad.csv:2: time: expected a time of at least 0", "'-5'"});
  refuses(header + "soon,add,a\n", {"bad.csv:2: time: expected a time in UTC", "'soon'"});
  refuses(header + "5,add,a\n2024-05-01T12:00:00Z,remove,a\n",
          {"bad.csv:3: time: expected seconds, like those before"});
  refuses(header + "2024-05-01T12:00:00Z,add,a\n9,remove,a\n",
          {"bad.csv:3: time: expected a time on the clock, like those before"});
  refuses(header + "2024-05-01T12:00:00Z,add,a\n2024-05-01T12:00:00+00:00,remove,a\n",
          {"bad.csv:3: time: expected a time that ends with Z, like those before"});
  refuses(header + "5,vanish,a\n", {"bad.csv:2: event: expected add, remove or warn", "'vanish'"});
  refuses(header + "5,add,a;b\n", {"bad.csv:2: node: expected a name without blanks and semicolons"});
  refuses(header + "5,add,a\n6,add,a\n", {"bad.csv:3: node: expected a node that was removed", "'a'"});
  refuses(header + "5,remove,a\n6,warn,a\n", {"bad.csv:3: node: expected a node that is there", "'a'"});
  refuses("event,node\nadd,a\n", {"bad.csv:1: expected a column 'time', found none"});
  refuses(header, {"bad.csv: expected a header and one row per event, found no rows"});
  refuses(header + "5,add,a\n", {"bad.csv: expected nodes that were there for some time, found none"});
  refuses(header + "5,add,a\n9,add,b\n", {"bad.csv: expected at least one machine that was revoked"});
  refuses(header + "5,add,a\n9,remove,a\n", {"bad.csv: --by: expected a model that is estimated", "'trace'"},
          "--model trace --by zone");
}

TEST_F(FitLifetimesErrors, OfCapacity) {
  const auto refuses_json = [&](const std::string& text, const std::vector<std::string>& parts,
                                const std::string& words = "") { refuses(text, parts, words, "bad.json"); };
  refuses_json("{\"metadata\": {\"gap_seconds\": 60},\n \"data\": [4,\n -1]}",
               {"bad.json:3:", "/data/1: expected a whole number of machines of at least 0, found -1"});
  refuses_json("{\"metadata\": {\"gap_seconds\": 60},\n \"data\": [4, 2.5]}", {"bad.json:2:", "found 2.5"});
  refuses_json("{\"metadata\": {\"gap_seconds\": 60},\n \"data\": []}",
               {"bad.json:2:", "at least one number of machines"});
  refuses_json("{\"metadata\": {\"gap_seconds\": 0}, \"data\": [4]}",
               {"bad.json:1:", "/metadata/gap_seconds: expected a number of seconds above 0, found 0"});
  refuses_json("{\"metadata\": {\"gap_seconds\": 60}, \"data\": [4, \"5\"]}",
               {"expected a number, found a text"});
  refuses_json("{\"metadata\": {}, \"data\": [4]}", {"/metadata/gap_seconds", "no such key"});
  refuses_json("{\"data\": [4]", {"bad.json:1:", "invalid JSON"});
  refuses_json("{\"metadata\": {\"gap_seconds\": 60}, \"data\": [4]}", {"--model", "'weibull'"},
               "--model weibull");
  EXPECT_EQ(line_.tandem("fit lifetimes nowhere.json").exit_code, 2);
}

TEST_F(FitLifetimes, ListsTheModels) {
  const auto result = line_.tandem("list lifetime");
  EXPECT_EQ(result.exit_code, 0);
  for (const auto& name : lifetimes::catalog().names())
    EXPECT_NE(result.output.find("  " + name + ' '), std::string::npos) << name;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

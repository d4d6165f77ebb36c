// The report of a study: figures of a small fabricated study, worked out by hand, and the contents of its
// pages.
#include "validation/report/study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/made_study.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temporary_folder.hpp"
#include "validation/report/study_fields.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::made_configuration;
using testing::made_study;
using ::testing::Not;
using ::testing::StartsWith;

const StudyResult& find(const Study& study, const std::string& name) {
  for (const auto& own : study.configurations)
    if (own.name == name) return own;
  static const StudyResult none;
  ADD_FAILURE() << name;
  return none;
}

// ---- The knee: from 8 to 16 workers, linear scaling doubles throughput, a gain of 100 % ----

using Line = std::vector<std::pair<int, double>>;

TEST(Knee, IsWhereTheNextStepGainsLessThanTheThreshold) {
  const Line line = {{8, 100}, {16, 190}, {32, 270}, {64, 300}};
  EXPECT_EQ(knee_of(line, 0.5), 16);  // gains 90 %, 42 %, 11 %
  EXPECT_EQ(knee_of(line, 0.4), 32);
  EXPECT_FALSE(knee_of(line, 0.1).has_value());
  EXPECT_EQ(knee_of(line, 0.95), 8);
}

/// From 2 to 4 workers a ring gains 48 %, but from 2 to 8 it gains 161 of possible 300 %.
TEST(Knee, IsNotASmallGainBeforeALargeOne) {
  EXPECT_FALSE(knee_of(Line{{2, 551}, {4, 814}, {8, 1440}}, 0.5).has_value());
  EXPECT_EQ(knee_of(Line{{2, 551}, {4, 814}, {8, 1440}, {16, 1500}}, 0.5), 8);
  EXPECT_EQ(knee_of(Line{{2, 551}, {4, 814}, {8, 1300}}, 0.5), 2) << "136 of possible 300 %";
}

TEST(Knee, IsRelativeToTheWorkersAdded) {
  EXPECT_EQ(knee_of(Line{{4, 100}, {12, 190}}, 0.5), 4);  // 90 % of the possible 200 %
  EXPECT_FALSE(knee_of(Line{{4, 100}, {12, 210}}, 0.5).has_value());
}

TEST(Knee, AFallingLineHasItAtTheMaximum) { EXPECT_EQ(knee_of(Line{{2, 50}, {4, 100}, {8, 90}}, 0.5), 4); }

TEST(Knee, ASinglePointHasNone) { EXPECT_FALSE(knee_of(Line{{8, 100.0}}, 0.5).has_value()); }

// ---- The document ----

TEST(StudyDocument, SpeedUpsAreOverTheBaselineOfTheGroup) {
  const Study study = made_study();
  EXPECT_EQ(find(study, "count=8/bsp").speed_up, 1.0);
  EXPECT_EQ(find(study, "count=8/asp").baseline.value(), "count=8/bsp");
  EXPECT_DOUBLE_EQ(find(study, "count=8/asp").speed_up.value(), 1.5);
  EXPECT_DOUBLE_EQ(find(study, "count=32/asp").speed_up.value(), 640.0 / 240.0);
  EXPECT_DOUBLE_EQ(find(study, "count=8/asp").target_speed_up.value(), 10.0 / 4.0);
  EXPECT_FALSE(find(study, "count=32/asp").target_speed_up) << "not reached";
}

TEST(StudyDocument, RoundTrips) {
  const json document = to_json(made_study());
  EXPECT_EQ(document.at("kind"), "study");
  EXPECT_EQ(document.at("configurations")[0].at("rounds").dump(), "10");
  EXPECT_FALSE(document.at("configurations")[0].contains("job"));
  EXPECT_FALSE(document.at("configurations")[0].at("environment").contains("command"));
  EXPECT_EQ(to_json(study_from_json(json::parse(document.dump()), "report.json")), document);
}

template <class T>
std::set<std::string> keys_of(const T& value) {
  std::set<std::string> keys;
  Fields<T>::visit(value,
                   [&](const std::string& key, const auto&, Key = Key::required) { keys.insert(key); });
  return keys;
}

/// Words between backticks in the first cells of the table of the page with this heading.
std::set<std::string> keys_of_table(const std::string& heading) {
  std::set<std::string> keys;
  bool inside = false;
  std::ifstream page(testing::source_folder() + "/validation/README.md");
  for (std::string line; std::getline(page, line);) {
    if (inside && line.empty()) break;
    if (line == heading) {
      inside = true;
      continue;
    }
    if (!inside) continue;
    std::istringstream cell(line.substr(0, line.find('|', 1)));
    std::string text, key;
    while (std::getline(cell, text, '`') && std::getline(cell, key, '`')) keys.insert(key);
  }
  return keys;
}

TEST(ReportDocuments, HaveTheKeysOfTheTablesOfThePage) {
  Study study = made_study();
  StudyResult& of_jobs = study.configurations.front();
  of_jobs.job = "one";
  auto keys = keys_of(study);
  keys.insert("answer");
  EXPECT_EQ(keys_of_table("| of a study | |"), keys);
  EXPECT_EQ(keys_of_table("| `configurations` of a study | |"), keys_of(of_jobs));
  EXPECT_EQ(keys_of_table("| of `validate` and `compare` | |"), keys_of(Report{}));
  EXPECT_EQ(keys_of_table("| `configurations` of `validate` and `compare` | |"),
            keys_of(ReportConfiguration{}));
  for (const auto& [key, value] : to_json(study).items()) EXPECT_TRUE(keys.contains(key)) << key;
}

TEST(StudyDocument, TheBaselineCanBeChosen) {
  StudySection section;
  section.baseline = "asp";
  const Study study = make_study({made_configuration({.algorithm = "bsp", .throughput = 100}),
                                  made_configuration({.algorithm = "asp", .throughput = 200})},
                                 "s", section, {});
  EXPECT_DOUBLE_EQ(find(study, "count=8/bsp").speed_up.value(), 0.5);
}

TEST(StudyDocument, WithoutBspThereIsNoSpeedUp) {
  const Study study = make_study({made_configuration({.algorithm = "asp"})}, "s", {}, {});
  EXPECT_FALSE(find(study, "count=8/asp").baseline.value());
  EXPECT_FALSE(find(study, "count=8/asp").speed_up);
}

TEST(StudyDocument, VariantsAlongWorkersHaveEfficiencyAndKnee) {
  const json answer = to_json(made_study()).at("answer");
  ASSERT_EQ(answer.at("panels").size(), 1U);
  EXPECT_THAT(answer.at("across").at("values").get<std::vector<std::string>>(), ElementsAre("8", "16", "32"));
  const json& rows = answer.at("panels")[0].at("rows");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("variant"), "bsp");
  EXPECT_DOUBLE_EQ(rows[0].at("efficiency")[2], 240.0 / 32 / (100.0 / 8));
  EXPECT_EQ(rows[0].at("knee"), 16);  // the last step gains 26 %
  EXPECT_TRUE(rows[1].at("knee").is_null());
  EXPECT_EQ(rows[1].at("cells")[0].at("configurations"), json({"count=8/asp"}));
}

TEST(StudyDocument, BytesArePerSample) {
  const StudyResult own = made_configuration({.samples = 1000, .sent = 5000, .received = 20000});
  EXPECT_DOUBLE_EQ(own.bytes_per_sample.sent, 5.0);
  EXPECT_DOUBLE_EQ(own.bytes_per_sample.received, 20.0);
  EXPECT_EQ(own.bytes.sent, 5000);
}

TEST(StudyPages, HaveTheSharesOfTheBusiestServer) {
  Study study = made_study();
  EXPECT_THAT(study_markdown(study), Not(HasSubstr("busiest server")));
  const json share = {{"shard", 0}, {"host", "a"}, {"share", 0.743}};
  study.configurations[0].environment.sharding["busiest"]["bytes"] = share;
  EXPECT_THAT(study_markdown(study), HasSubstr("Bytes at the busiest server"));
  EXPECT_THAT(study_markdown(study), HasSubstr("74.3 %"));
  EXPECT_THAT(study_markdown(study), Not(HasSubstr("Messages at the busiest server")));
}

TEST(StudyDocument, PublishedFiguresAreComparedWithOurs) {
  const auto published = made_study().published;
  ASSERT_EQ(published.size(), 2U);
  EXPECT_DOUBLE_EQ(published[0].ours.value(), 1.5);
  EXPECT_DOUBLE_EQ(published[0].ratio.value(), 0.5);
  EXPECT_FALSE(published[1].ours);
}

TEST(StudyDocument, FailedConfigurationsAreReportedAndNotCounted) {
  const Study study = make_study(
      {made_configuration({.algorithm = "bsp"}),
       failed_study_result({.name = "count=8/asp", .group = "count=8", .algorithm = "asp", .coordinates = {}},
                           "deadlock <at> 3 s")},
      "s", {}, {});
  EXPECT_EQ(configurations_table(study).rows.size(), 1U);
  EXPECT_THAT(study_table(study), HasSubstr("count=8/asp: failed\ndeadlock <at> 3 s"));
  EXPECT_THAT(study_markdown(study), HasSubstr("### count=8/asp: failed\n\n```\ndeadlock <at> 3 s"));
  EXPECT_THAT(study_html(study), HasSubstr("deadlock \\u003cat> 3 s"));
}

/// After an initial point at 0.1: means of two of (0.1, 0.4, 0.8, 0.9) are 0.1, 0.25, 0.6, 0.85.
TEST(CurvesRead, MovingMeansDelayTheTarget) {
  const Curve curve = {{1.0, 10, 0.4}, {2.0, 20, 0.8}, {3.0, 30, 0.9}};
  const CurveReading reading{.every = 1, .mean = 2, .start = 0.1};
  EXPECT_EQ(read_time_to(0.6, curve, reading), 2.0);
  EXPECT_EQ(read_time_to(0.8, curve, reading), 3.0);
  EXPECT_FALSE(read_time_to(0.9, curve, reading).has_value());
  EXPECT_EQ(read_time_to(0.05, curve, reading), 0.0);
}

TEST(CurvesRead, IntermediateEvaluationsAreSkipped) {
  const Curve curve = {{1.0, 10, 0.9}, {2.0, 20, 0.5}, {3.0, 30, 0.9}, {4.0, 40, 0.6}};
  EXPECT_EQ(read_time_to(0.6, curve, {.every = 2, .mean = 1, .start = 0.0}), 4.0);
  EXPECT_EQ(read_time_to(0.6, curve, {.every = 1, .mean = 1, .start = 0.0}), 1.0);
}

TEST(CurvesRead, AreReportedWithTheFirstEvaluationAtTheTarget) {
  StudySection section;
  section.reading = CurveReading{.every = 1, .mean = 1, .start = 0.0};
  const Study study = make_study({made_configuration({.algorithm = "bsp", .reached_s = 10}),
                                  made_configuration({.algorithm = "asp", .reached_s = 4})},
                                 "s", section, {});
  EXPECT_EQ(find(study, "count=8/asp").read_time_to_target_s, 4.0);
  EXPECT_DOUBLE_EQ(find(study, "count=8/asp").read_target_speed_up.value(), 2.5);
  const Study without = made_study();
  EXPECT_FALSE(find(without, "count=8/asp").read_time_to_target_s);
}

// ---- The pages ----

TEST(StudyPages, ContainTheFiguresOfTheDocument) {
  const Study study = made_study();
  for (const auto& page : {study_table(study), study_markdown(study)}) {
    EXPECT_THAT(page, HasSubstr("*4.00 (2.50x)"));
    EXPECT_THAT(page, HasSubstr("640.0"));
    EXPECT_THAT(page, Not(HasSubstr("count=16/asp"))) << "a grid is a table with one axis across";
    EXPECT_THAT(page, HasSubstr("32 at least"));
    EXPECT_THAT(page, HasSubstr("not reached"));
  }
  const std::string markdown = study_markdown(study);
  for (const char* text :
       {"what is asked", "a note", "Somebody, Table 1", "tandem study made.yaml", "50.0 %"})
    EXPECT_THAT(markdown, HasSubstr(text)) << text;
}

/// Seen: "ESync 241x", which was throughput with 243 local steps per exchange.
TEST(StudyPages, StartWithTheQuestionTheBestAndTheWarnings) {
  const Study study = make_study(
      {made_configuration({.algorithm = "bsp", .reached_s = 0}),
       made_configuration({.algorithm = "esync", .throughput = 24'100, .reached_s = 0, .local_steps = 243})},
      "s", {}, {});
  EXPECT_EQ(study.question, "a made model; 8 workers");
  const std::string text = answer_of(study).text;
  EXPECT_EQ(text,
            "esync is the fastest: throughput 24,100 samples/s, 241x the throughput of bsp. Next is bsp with "
            "100.0 samples/s. This is no speed-up of training: variants exchange differently often, and "
            "accuracy was not "
            "simulated.");
  ASSERT_EQ(study.warnings.size(), 2U);
  EXPECT_THAT(study_table(study), StartsWith("Question: a made model; 8 workers\nesync is the fastest"));
  for (const auto& page : {study_table(study), study_markdown(study), study_html(study)}) {
    EXPECT_THAT(page, HasSubstr(text));
    EXPECT_THAT(page, HasSubstr("Warning: Configurations differ in how often they exchange"));
    EXPECT_THAT(page, HasSubstr("Warning: nobody reads the disk"));
    EXPECT_THAT(page, HasSubstr("Local steps per exchange"));
  }
}

// ---- Seeds ----

StudyResult of_seed(int seed, const std::string& algorithm, double last_accuracy) {
  StudyResult own =
      testing::placed(made_configuration({.algorithm = algorithm}), {{"seed", std::to_string(seed)}});
  own.curve.back().accuracy = last_accuracy;
  return own;
}

Study study_of_seeds() {
  StudySection section;
  section.baseline = "bsp";
  return make_study({of_seed(1, "bsp", 0.81), of_seed(1, "asp", 0.85), of_seed(2, "bsp", 0.83),
                     of_seed(2, "asp", 0.86), of_seed(3, "asp", 0.90)},
                    "s", section, {});
}

TEST(StudyDocument, MeansOverSeedsAreOfConfigurationsThatDifferInTheSeedAlone) {
  const auto seeds = study_of_seeds().seeds;
  ASSERT_EQ(seeds.size(), 2U);
  EXPECT_EQ(seeds[0].name, "bsp");
  EXPECT_THAT(seeds[0].configurations, ElementsAre("seed=1/bsp", "seed=2/bsp"));
  EXPECT_FALSE(seeds[0].baseline);
  EXPECT_EQ(seeds[1].baseline, "bsp");
  EXPECT_EQ(seeds[1].configurations.size(), 3U);
  EXPECT_NEAR(seeds[0].last_accuracy.value().mean, 0.82, 1e-12);
  EXPECT_NEAR(seeds[0].last_accuracy.value().deviation, std::sqrt(2 * 0.01 * 0.01), 1e-12);
  EXPECT_NEAR(seeds[1].last_accuracy.value().mean, 0.87, 1e-12);
  // Of the seeds in common, 0.04 and 0.03.
  EXPECT_NEAR(seeds[1].accuracy_gain.value().mean, 0.035, 1e-12);
  EXPECT_NEAR(seeds[1].accuracy_gain.value().deviation, 0.005, 1e-12);
  EXPECT_TRUE(made_study().seeds.empty()) << "its configurations have one seed";
}

/// Seeds are repetitions: warnings neither name them nor count them as groups.
TEST(StudyDocument, WarningsNameNoSeeds) {
  const auto of = [](const std::string& algorithm, double local_steps, int workers, int seed) {
    return testing::placed(
        made_configuration({.algorithm = algorithm, .reached_s = 0, .local_steps = local_steps}),
        {{"workers", std::to_string(workers)}, {"seed", std::to_string(seed)}});
  };
  std::vector<StudyResult> configurations;
  for (const int workers : {2, 4})
    for (const int seed : {1, 2, 3})
      for (const auto& [algorithm, steps] : {std::pair("bsp", 1.0), std::pair("esync", 9.0)})
        configurations.push_back(of(algorithm, steps, workers, seed));
  const auto warnings = make_study(std::move(configurations), "s", {}, {}).warnings;
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings.front(), HasSubstr("(workers=2/bsp: "));
  EXPECT_THAT(warnings.front(), HasSubstr("workers=2/esync: "));
  EXPECT_THAT(warnings.front(), HasSubstr("so in 2 groups)"));
}

TEST(StudyPages, ShowMeansOverSeeds) {
  const Study study = study_of_seeds();
  for (const std::string& page : {study_table(study), study_markdown(study), study_html(study)}) {
    EXPECT_THAT(page, HasSubstr("Means over seeds"));
    EXPECT_THAT(page, HasSubstr("0.8700 ± 0.0265"));
    EXPECT_THAT(page, HasSubstr("+0.0350 ± 0.0050"));
  }
  EXPECT_THAT(study_markdown(made_study()), Not(HasSubstr("seeds")));
}

TEST(StudyPages, OmitEmptyColumns) {
  const Study study = make_study({made_configuration({.algorithm = "asp", .reached_s = 0})}, "s", {}, {});
  std::vector<std::string> columns;
  for (const auto& column : configurations_table(study).columns) columns.push_back(column.name);
  EXPECT_THAT(columns, Not(::testing::Contains("Time to target")));
  EXPECT_THAT(columns, Not(::testing::Contains("Speed-up")));
  EXPECT_THAT(columns, ::testing::Contains("Throughput"));
}

TEST(StudyPages, EscapeTexts) {
  StudySection section;
  section.about = "a < b </script>";
  const std::string page = study_html(make_study({made_configuration({})}, "<s>", section, {}));
  EXPECT_THAT(page, HasSubstr("a \\u003c b \\u003c/script>"));
  EXPECT_THAT(page, HasSubstr("<title>&lt;s&gt;: a study</title>"));
}

TEST(StudyPages, AreWritten) {
  const testing::TemporaryFolder folder;
  write_study(folder.path().string(), made_study());
  for (const char* name : {"report.json", "report.md", "report.html", "study.csv"})
    EXPECT_GT(std::filesystem::file_size(folder.path(name)), 500U) << name;
  EXPECT_EQ(json::parse(std::ifstream(folder.path("report.json"))), to_json(made_study()));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation

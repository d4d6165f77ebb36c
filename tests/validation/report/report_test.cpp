// The report: its document contains the results of the comparison, its page is self-contained.
#include "validation/report/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/synthetic_results.hpp"
#include "validation/page/pieces.hpp"
#include "validation/report/report_page.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using testing::many_variants;
using ::testing::Not;
using testing::six_variants;
using ::testing::StartsWith;
using testing::synthetic_variant;

const CompareOptions quick{.resampling = {.resamples = 100}};

Report report_of(const std::vector<VariantResults>& variants) {
  return make_report(variants, validate(variants, 0.1, quick), {.title = "lab", .commands = {}});
}

json document_of(const std::vector<VariantResults>& variants) { return to_json(report_of(variants)); }

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return rest_of(file);
}

TEST(ReportDocument, ContainsTheResultsOfTheComparison) {
  const auto variants = six_variants();
  const auto validation = validate(variants, 0.1, quick);
  const auto report = make_report(variants, validation, {.title = "lab", .commands = {"tandem validate"}});
  const json document = to_json(report);
  EXPECT_EQ(document["verdict"], validation.verdict);
  EXPECT_EQ(document["headline"], validation.best);
  EXPECT_EQ(document["question"], validation.question);
  EXPECT_EQ(document["warnings"], json(validation.warnings));
  EXPECT_EQ(document["mape"], validation.mape);
  ASSERT_EQ(document["configurations"].size(), 6U);
  const auto& bsp = document["configurations"][0];
  EXPECT_EQ(bsp["gates"]["operations"]["state"], "passed");
  EXPECT_EQ(bsp["figures"][0]["key"], "step_time");
  EXPECT_EQ(bsp["figures"][0]["simulated"],
            validation.configurations[0].comparison->figure("step_time").simulated);
  EXPECT_EQ(bsp["detail"]["accuracy"]["measured"].size(), 3U);
  EXPECT_EQ(bsp["experiment"]["sync"]["algorithm"], "bsp");
  EXPECT_EQ(document["commands"][0], "tandem validate");
  EXPECT_EQ(document_of(variants)["commands"].size(), 24U);
  EXPECT_EQ(to_json(report_from_json(json::parse(document.dump()), "report.json")), document);
}

TEST(ReportDocument, ContainsTheMetricsOfBothResults) {
  const auto variants = six_variants();
  const auto document = document_of(variants);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto& configuration = document["configurations"][i];
    const auto& metrics = configuration["metrics"];
    ASSERT_EQ(metrics["measured"].size(), 3U);
    EXPECT_EQ(metrics["simulated"]["staleness"], to_json(variants[i].simulated.summary)["staleness"]);
    EXPECT_EQ(metrics["measured"][2]["shares"], to_json(variants[i].measured[2].summary)["shares"]);
    const auto& ranks = configuration["detail"]["ranks"]["ranks"];
    ASSERT_EQ(ranks.size(), 4U);
    EXPECT_EQ(ranks[3]["measured"]["shares"], to_json(variants[i].measured[0].summary)["ranks"][3]["shares"]);
    const auto& curve = configuration["detail"]["accuracy"]["simulated"];
    ASSERT_FALSE(curve.empty());
    EXPECT_EQ(curve.back()[1], variants[i].simulated.journal.evaluations.back().samples);
  }
  const auto& fastest = document["sets"][0]["groups"][0]["variants"][0];
  EXPECT_EQ(fastest["baseline"], "bsp");
  EXPECT_GT(fastest["speed_up"]["measured"], 1.0);
  EXPECT_TRUE(fastest["target"].is_null());
}

TEST(ReportDocument, ADamagedKeyIsNamed) {
  const auto error_of = [](const json& document) -> std::string {
    try {
      report_from_json(document, "out/report.json");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "none";
  };
  json document = document_of({synthetic_variant({})});
  EXPECT_EQ(error_of(document), "none");
  document["configurations"][0]["figures"][1]["error"] = "large";
  EXPECT_EQ(error_of(document),
            "out/report.json: /configurations/0/figures/1/error: expected a number, found a text");
  document["configurations"][0]["figures"][1].erase("error");
  EXPECT_EQ(error_of(document),
            "out/report.json: /configurations/0/figures/1: expected the key 'error', found none");
}

TEST(ReportText, SpeedUpsAndTargetsAreInEveryForm) {
  std::vector<VariantResults> variants = {
      synthetic_variant({.target_accuracy = 0.7}),
      synthetic_variant({.name = "asp", .algorithm = "asp", .exchange_s = 0.009, .target_accuracy = 0.7}),
      synthetic_variant({.name = "short", .algorithm = "asp", .rounds = 6, .target_accuracy = 0.7})};
  const auto report = report_of(variants);
  for (const auto& text : {summary_table(report), report_markdown(report)}) {
    EXPECT_THAT(text, HasSubstr("Speed-up in throughput, simulated / measured: "));
    EXPECT_THAT(text, HasSubstr("asp over bsp "));
    EXPECT_THAT(text, HasSubstr("Speed-up in time to the target accuracy: asp "));
  }
  for (const auto& text : {summary_table(report), report_markdown(report), report_html(report)}) {
    EXPECT_THAT(text, HasSubstr("Target accuracy 0.7: simulated after "));
    EXPECT_THAT(text, HasSubstr("Target accuracy 0.7: simulated not reached (best "));
    EXPECT_THAT(text, HasSubstr("reached by 0 of 3 runs"));
  }
  EXPECT_THAT(report_html(report), HasSubstr("Speed-up in time to target"));
  EXPECT_THAT(report_html(report), HasSubstr("\"not reached\""));
}

TEST(ReportText, TheBusiestShardIsComparedWithOtherPolicies) {
  const auto rows_of = [](const VariantResults& variant) {
    std::string text;
    for (const auto& row : metric_rows(report_of({variant}).configurations[0]))
      if (row.name.find("busiest") != std::string::npos || row.name.find("sharding") != std::string::npos)
        text += row.name + ": " + row.simulated + " / " + row.measured + '\n';
    return text;
  };
  auto variant = synthetic_variant({});
  EXPECT_EQ(rows_of(variant), "");
  const json bytes = {{"shard", 0}, {"host", "a"}, {"share", 0.743}};
  const json messages = {{"shard", 1}, {"host", "b"}, {"share", 0.6}};
  const json other = {{"policy", "even"}, {"bytes", 0.5}, {"messages", 0.51}};
  const json sharding = {{"busiest", {{"bytes", bytes}, {"messages", messages}}},
                         {"others", json::array({other})}};
  variant.simulated.info.sharding = variant.measured.front().info.sharding = sharding;
  EXPECT_EQ(rows_of(variant),
            "busiest shard: share of bytes, of messages: 74.3 %, 60.0 % / 74.3 %, 60.0 %\n"
            "the same with sync.sharding: even: 50.0 %, 51.0 % / 50.0 %, 51.0 %\n");
  const auto page = report_html(report_of({variant}));
  EXPECT_THAT(page, HasSubstr("busiest shard: share of bytes, of messages"));
}

TEST(ReportText, MissingBspIsReported) {
  const auto report = report_of({synthetic_variant({.name = "asp", .algorithm = "asp"}),
                                 synthetic_variant({.name = "esync", .algorithm = "esync"})});
  for (const auto& text : {summary_table(report), report_markdown(report), report_html(report)})
    EXPECT_THAT(text, HasSubstr("No speed-up over bsp: no variant runs bsp"));
}

TEST(ReportText, SpeedUpsOfManyGroupsAreSummarised) {
  const auto text = summary_table(report_of(many_variants(40)));
  EXPECT_THAT(
      text,
      HasSubstr("Speed-up in throughput over the group's bsp: predicted with a mean absolute error of "));
}

TEST(ReportDocument, TimelinesStayInsideTheirWindow) {
  const auto document = document_of(six_variants());
  for (const auto& variant : document["configurations"]) {
    const double length = variant["detail"]["timeline"]["length_s"];
    ASSERT_EQ(variant["detail"]["timeline"]["ranks"].size(), 4U);
    for (const auto& rank : variant["detail"]["timeline"]["ranks"])
      for (const char* world : {"simulated", "measured"}) {
        EXPECT_GT(rank[world].size(), 5U);
        double end = 0;
        for (const auto& slice : rank[world]) {
          EXPECT_GE(slice[0].get<double>(), end - 1e-9) << "slices overlap";
          end = slice[0].get<double>() + slice[1].get<double>();
          EXPECT_LE(end, length * (1 + 1e-12));
        }
      }
  }
}

TEST(ReportDocument, TheNumberOfOmittedRanksIsReported) {
  const auto document =
      document_of({synthetic_variant({.step_s = std::vector<double>(20, 0.02), .rounds = 8})});
  EXPECT_EQ(document["configurations"][0]["detail"]["timeline"]["ranks"].size(), 8U);
  EXPECT_EQ(document["configurations"][0]["detail"]["timeline"]["ranks_left_out"], 12);
}

TEST(ReportDocument, SharesOfTheErrorAddUp) {
  const auto document = document_of(six_variants());
  ASSERT_EQ(document["configurations"].size(), 6U);
  for (const auto& configuration : document["configurations"]) {
    const auto& attribution = configuration["attribution"];
    double sum = attribution["others"]["share"];
    for (const auto& part : attribution["parts"]) sum += part["share"].get<double>();
    EXPECT_NEAR(sum, attribution["total"].get<double>(), 1e-12) << configuration["name"];
  }
}

TEST(ReportDocument, WithManyConfigurationsSomeHaveDetails) {
  const auto report = report_of(many_variants(60));
  const json document = to_json(report);
  std::size_t detailed = 0;
  std::vector<std::pair<double, bool>> by_error;
  for (const auto& configuration : document["configurations"]) {
    detailed += !configuration["detail"].is_null();
    by_error.emplace_back(-std::abs(configuration["figures"][0]["error"].get<double>()),
                          !configuration["detail"].is_null());
  }
  EXPECT_EQ(detailed, most_worst_details + most_even_details);
  std::sort(by_error.begin(), by_error.end());
  for (std::size_t i = 0; i < most_worst_details; ++i) EXPECT_TRUE(by_error[i].second) << i;
  EXPECT_THAT(report_html(report), HasSubstr("Of 60 configurations, 24 are shown in detail"));
}

TEST(ReportText, FailedConfigurationsAreListedInEveryForm) {
  const auto variants = many_variants(4);
  std::vector<Compared> all;
  std::vector<ReportConfiguration> configurations;
  for (const auto& variant : variants) {
    all.push_back(compared(variant, quick));
    configurations.push_back(report_configuration(variant, *all.back().comparison));
  }
  all[2] = {.name = all[2].name, .group = all[2].group, .failure = "mpirun ended with <signal> 9"};
  configurations[2] = failed_configuration(all[2]);
  const auto validation = conclude(all, 0.5, quick.resampling);
  EXPECT_FALSE(validation.passed());
  const auto report = make_report(configurations, validation, {.title = "lab", .commands = {}});
  for (const auto& text : {summary_table(report), report_markdown(report)}) {
    EXPECT_THAT(text, HasSubstr("mpirun ended with <signal> 9"));
    EXPECT_THAT(text, HasSubstr("1 of 4 configurations failed ('lab-0/esync')"));
  }
  EXPECT_THAT(report_html(report), HasSubstr("mpirun ended with \\u003csignal> 9"));
}

TEST(ReportText, NamesEveryVariantPhaseAndTheVerdict) {
  const auto report = report_of(six_variants());
  for (const auto& text : {summary_table(report), report_markdown(report)}) {
    for (const char* expected : {"bsp", "asp", "esync", "local-sgd", "bsp-ring", "bsp-halving-doubling",
                                 "step time", "exchange", "query", "Spearman"})
      EXPECT_THAT(text, HasSubstr(expected));
    EXPECT_THAT(text, HasSubstr(report.verdict));
  }
}

TEST(ReportText, ABusyMachineIsReportedInEveryForm) {
  auto variants = std::vector{synthetic_variant({})};
  EXPECT_THAT(summary_table(report_of(variants)), Not(HasSubstr("warning")));
  variants[0].measured[0].journal.missed_deadlines = 3;
  variants[0].measured[1].journal.cpu_wait = Seconds(0.4 * variants[0].measured[1].summary.makespan_s);
  variants[0].measured[1].journal.other_load = 0.23;
  variants[0].measured[1].summary.gpus = {{.throttled = 0.0}, {.throttled = 0.25}};
  const auto report = report_of(variants);
  for (const auto& text : {summary_table(report), report_markdown(report), report_html(report)}) {
    EXPECT_THAT(text,
                HasSubstr("Other programs used this machine while 1 of 1 configurations were measured: up "
                          "to 23 % of its cores"));
    EXPECT_THAT(text, HasSubstr("too slow for the devices"));
    EXPECT_THAT(text,
                HasSubstr("GPUs were throttled while 1 of 1 configurations were measured: at up to 25 % "
                          "of the samples"));
    EXPECT_THAT(text, HasSubstr("up to 40.0 % of a run"));
  }
}

TEST(ReportText, StartsWithTheQuestionAndTheBest) {
  const auto report = report_of(six_variants());
  const std::string question = "Question: model lenet (61,706 parameters) on 60,000 images; batch 64";
  EXPECT_THAT(summary_table(report), StartsWith(question));
  for (const auto& text : {summary_table(report), report_markdown(report), report_html(report)}) {
    EXPECT_THAT(text, HasSubstr(question));
    EXPECT_THAT(text, HasSubstr(report.headline));
  }
  EXPECT_THAT(report_markdown(report), HasSubstr("Local steps per exchange"));
}

TEST(ReportText, DifferencesOfTwoNetworksAreNotCalledErrors) {
  auto variants = std::vector{synthetic_variant({})};
  variants[0].simulated.info.network = NetworkOrigin{.kind = "simulated", .of = "platform"};
  const auto report = report_of(variants);
  for (const auto& text : {summary_table(report), report_markdown(report), report_html(report)})
    EXPECT_THAT(text, HasSubstr("Differences between two networks or devices, not errors of a prediction"));
  EXPECT_THAT(summary_table(report), HasSubstr("  Difference  "));
  EXPECT_THAT(summary_table(report), Not(HasSubstr("  Error  ")));
}

TEST(ReportText, TheWitnessHasAColumn) {
  auto variants = std::vector{synthetic_variant({})};
  EXPECT_THAT(summary_table(report_of(variants)), Not(HasSubstr("Under SMPI")));
  variants[0].witness = variants[0].simulated;
  variants[0].witness->info.world = "smpi";
  const auto report = report_of(variants);
  for (const auto& text : {summary_table(report), report_markdown(report)})
    EXPECT_THAT(text, HasSubstr("Under SMPI"));
}

TEST(ReportText, AFailedGateIsShownWithItsFirstDivergence) {
  auto variants = std::vector{synthetic_variant({})};
  variants[0].measured[0].journal.operations[50].bytes = 3;
  const auto report = report_of(variants);
  for (const auto& text : {summary_table(report), report_markdown(report), report_html(report)})
    EXPECT_THAT(text, HasSubstr("measured 3 bytes"));
  EXPECT_THAT(report_html(report), HasSubstr("\"kind\":\"banner\",\"points\":"));
}

TEST(ReportPage, HasNoExternalReferences) {
  std::string page = report_html(report_of(six_variants()));
  // The library's licence comment and its XML namespace names are not references.
  const auto library = page.find(pieces::chart_library);
  ASSERT_NE(library, std::string::npos);
  EXPECT_GT(pieces::chart_library.size(), 100'000U);
  page.erase(library, pieces::chart_library.size());
  for (const char* reference :
       {"http://", "https://", "src=", "href=", "@import", "url(", "fetch(", "import("})
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  EXPECT_THAT(std::string(pieces::chart_library), Not(HasSubstr("sourceMappingURL")));
}

TEST(ReportPage, TextsAreEscaped) {
  const std::string hostile = "</script><script>alert('x')</script>\"&<!--";
  const auto page = report_html(report_of({synthetic_variant({.name = hostile})}));
  EXPECT_THAT(page, Not(HasSubstr("alert('x')</script>")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cscript>alert"));
  std::size_t ends = 0;
  for (auto at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++ends;
  EXPECT_EQ(ends, 8U);
}

TEST(WriteReport, WritesThreeForms) {
  const auto directory = fs::temp_directory_path() / ("tandem_write_report_" + std::to_string(getpid()));
  fs::create_directories(directory);
  const auto report = report_of({synthetic_variant({})});
  write_report(directory, report);
  EXPECT_EQ(json::parse(read(directory / "report.json")), to_json(report));
  EXPECT_EQ(read(directory / "report.md"), report_markdown(report));
  EXPECT_EQ(read(directory / "report.html"), report_html(report));
  fs::remove_all(directory);
  EXPECT_THROW(write_report(directory, report), std::runtime_error);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation

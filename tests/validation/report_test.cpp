// The report: its document says what the comparison found, its page needs nothing from outside and draws
// every chart.
#include "validation/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/synthetic_results.hpp"
#include "validation/html.hpp"
#include "validation/page/pieces.hpp"

namespace tandem::validation {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::six_variants;
using testing::synthetic_variant;

const CompareOptions quick{.resampling = {.resamples = 100}};

json document_of(const std::vector<VariantResults>& variants) {
  return report_document(variants, validate(variants, 0.1, quick), {.title = "lab", .commands = {}});
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Chromium and what it said about a page.
class Browser {
 public:
  static bool is_installed() { return std::system("command -v chromium > /dev/null 2>&1") == 0; }
  explicit Browser(const std::string& html) {
    directory_ = fs::temp_directory_path() / ("tandem_report_" + std::to_string(getpid()));
    fs::create_directories(directory_);
    std::ofstream(directory_ / "page.html") << html;
    const std::string command =
        "timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir=" +
        (directory_ / "profile").string() +
        " --enable-logging=stderr --v=0 --virtual-time-budget=5000 --dump-dom file://" +
        (directory_ / "page.html").string() + " > " + (directory_ / "dom").string() + " 2> " +
        (directory_ / "log").string();
    status = std::system(command.c_str());
    dom = read(directory_ / "dom");
    log = read(directory_ / "log");
  }
  ~Browser() { fs::remove_all(directory_); }

  int status;
  std::string dom;
  std::string log;

 private:
  fs::path directory_;
};

TEST(ReportDocument, SaysWhatTheComparisonFound) {
  const auto variants = six_variants();
  const auto validation = validate(variants, 0.1, quick);
  const auto document =
      report_document(variants, validation, {.title = "lab", .commands = {"tandem validate"}});
  EXPECT_EQ(document["verdict"], validation.verdict);
  EXPECT_EQ(document["mape"], validation.mape);
  ASSERT_EQ(document["variants"].size(), 6U);
  const auto& bsp = document["variants"][0];
  EXPECT_EQ(bsp["gates"]["operations"]["state"], "passed");
  EXPECT_EQ(bsp["figures"][0]["key"], "step_time");
  EXPECT_EQ(bsp["figures"][0]["simulated"], validation.comparisons[0].figure("step_time").simulated);
  EXPECT_EQ(bsp["accuracy"]["measured"].size(), 3U);
  EXPECT_EQ(bsp["experiment"]["sync"]["algorithm"], "bsp");
  EXPECT_EQ(document["commands"][0], "tandem validate");
  EXPECT_EQ(document_of(variants)["commands"].size(), 24U);
  EXPECT_EQ(json::parse(document.dump()), document);
}

TEST(ReportDocument, TimelinesStayInsideTheirWindow) {
  const auto document = document_of(six_variants());
  for (const auto& variant : document["variants"]) {
    const double length = variant["timeline"]["length_s"];
    ASSERT_EQ(variant["timeline"]["ranks"].size(), 4U);
    for (const auto& rank : variant["timeline"]["ranks"])
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

TEST(ReportDocument, ManyRanksAreCutAndSaidToBe) {
  const auto document =
      document_of({synthetic_variant({.step_s = std::vector<double>(20, 0.02), .rounds = 8})});
  EXPECT_EQ(document["variants"][0]["timeline"]["ranks"].size(), 8U);
  EXPECT_THAT(report_html(document), HasSubstr("12 further workers are not shown"));
}

TEST(ReportText, NamesEveryVariantPhaseAndTheVerdict) {
  const auto document = document_of(six_variants());
  for (const auto& text : {summary_table(document), report_markdown(document)}) {
    for (const char* expected : {"bsp", "asp", "esync", "local-sgd", "bsp-ring", "bsp-halving-doubling",
                                 "step time", "exchange", "query", "Spearman"})
      EXPECT_THAT(text, HasSubstr(expected));
    EXPECT_THAT(text, HasSubstr(document["verdict"].get<std::string>()));
  }
}

TEST(ReportText, AFailedGateIsShownWithItsFirstDivergence) {
  auto variants = std::vector{synthetic_variant({})};
  variants[0].measured[0].journal.operations[50].bytes = 3;
  const auto document = document_of(variants);
  for (const auto& text : {summary_table(document), report_markdown(document), report_html(document)})
    EXPECT_THAT(text, HasSubstr("measured 3 bytes"));
  EXPECT_THAT(report_html(document), HasSubstr("class=\"verdict failed\""));
}

TEST(ReportPage, HasNoReferenceToAnywhere) {
  std::string page = report_html(document_of(six_variants()));
  // The library's licence comment and its own names of XML spaces are no references.
  const auto library = page.find(pieces::chart_library);
  ASSERT_NE(library, std::string::npos);
  EXPECT_GT(pieces::chart_library.size(), 100'000U);
  page.erase(library, pieces::chart_library.size());
  for (const char* reference :
       {"http://", "https://", "src=", "href=", "@import", "url(", "fetch(", "import("})
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  EXPECT_THAT(std::string(pieces::chart_library), Not(HasSubstr("sourceMappingURL")));
}

TEST(ReportPage, TextsCannotBreakOutOfTheirPlace) {
  const std::string hostile = "</script><script>alert('x')</script>\"&<!--";
  const auto page = report_html(document_of({synthetic_variant({.name = hostile})}));
  EXPECT_THAT(page, Not(HasSubstr("alert('x')</script>")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;"));
  std::size_t ends = 0;
  for (auto at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++ends;
  EXPECT_EQ(ends, 3U);
}

TEST(ReportPage, DrawsEveryChartWithoutErrors) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const Browser browser(report_html(document_of(six_variants())));
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_THAT(browser.log, Not(HasSubstr("CONSOLE")));
  // Step time, error and throughput, and phases and accuracy of each variant.
  EXPECT_THAT(browser.dom, HasSubstr("data-drawn=\"15\""));
}

TEST(ReportPage, OneVariantWithoutAccuracyIsDrawnToo) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const auto variant = synthetic_variant({.accuracy = false, .cache = true}, {.repetitions = 1});
  const Browser browser(report_html(document_of({variant})));
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_THAT(browser.log, Not(HasSubstr("CONSOLE")));
  EXPECT_THAT(browser.dom, HasSubstr("data-drawn=\"3\""));
  EXPECT_THAT(browser.dom, HasSubstr("nothing was evaluated with real mathematics"));
}

TEST(ReportPage, AScriptErrorWouldBeNoticed) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const Browser browser("<script>null.nothing</script>");
  EXPECT_THAT(browser.log, HasSubstr("CONSOLE"));
}

TEST(WriteReport, WritesThreeForms) {
  const auto directory = fs::temp_directory_path() / ("tandem_write_report_" + std::to_string(getpid()));
  fs::create_directories(directory);
  const auto document = document_of({synthetic_variant({})});
  write_report(directory, document);
  EXPECT_EQ(json::parse(read(directory / "report.json")), document);
  EXPECT_EQ(read(directory / "report.md"), report_markdown(document));
  EXPECT_EQ(read(directory / "report.html"), report_html(document));
  fs::remove_all(directory);
  EXPECT_THROW(write_report(directory, document), std::runtime_error);
}

}  // namespace
}  // namespace tandem::validation

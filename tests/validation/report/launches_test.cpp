// Jobs that started again, in the documents and pages of reports.
#include "validation/report/launches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/member_results.hpp"
#include "tests/support/synthetic_results.hpp"
#include "validation/report/members.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_page.hpp"
#include "validation/report/results_page.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::three_launches;

VariantResults started_again() {
  auto variant = testing::synthetic_variant({.name = "bsp", .rounds = 200});
  variant.simulated.info.generations = three_launches();
  for (auto& run : variant.measured) run.info.generations = three_launches(0.05);
  return variant;
}

Report report_of(const VariantResults& variant) {
  const CompareOptions quick{.resampling = {.resamples = 100}};
  return make_report(std::vector{variant}, validate({variant}, 0.1, quick), {.title = "lab", .commands = {}});
}

using Span = std::tuple<std::int64_t, double, double>;
std::vector<Span> values_of(const std::vector<LaunchSpan>& spans) {
  std::vector<Span> values;
  for (const LaunchSpan& span : spans) values.emplace_back(span.number, span.from_s, span.to_s);
  return values;
}

std::vector<std::string> texts_of(const Row& row) {
  std::vector<std::string> texts;
  for (const auto& cell : row.cells) texts.push_back(cell.text);
  return texts;
}

TEST(LaunchSpans, EndWhenRanksAreReadyOrTheLaunchIsGivenUp) {
  EXPECT_THAT(values_of(launch_spans(three_launches(), 4.0)),
              ElementsAre(Span(1, 1.5, 2.0), Span(2, 2.0, 2.25)));
  auto launches = three_launches();
  launches[2].began.reset();
  EXPECT_THAT(values_of(launch_spans(launches, 4.0)), ElementsAre(Span(1, 1.5, 2.0), Span(2, 2.0, 4.0)));
  for (auto& launch : launches) launch.launched.reset();
  EXPECT_TRUE(launch_spans(launches, 4.0).empty());
  EXPECT_TRUE(launch_spans({}, 4.0).empty());
}

TEST(LaunchesInReports, AreThoseOfBothWorlds) {
  const Report report = report_of(started_again());
  const Table table = launches_of_configuration(report.configurations[0]);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(texts_of(table.rows[1]),
            (std::vector<std::string>{"1", "1.50 s / 1.50 s", "- / -", "- / -", "50 / 50",
                                      "the machine of worker 3 on 'lab-4' departed (revoked)",
                                      "the machine of worker 3 on 'lab-4' departed (revoked)"}));
  EXPECT_EQ(texts_of(table.rows[2]),
            (std::vector<std::string>{"2", "2.00 s / 2.00 s", "2.25 s / 2.30 s", "250 ms / 300 ms", "50 / 50",
                                      "the job was done", "the job was done"}));
  const Table overview = launches_overview(report);
  ASSERT_EQ(overview.rows.size(), 1U);
  EXPECT_EQ(texts_of(overview.rows[0]),
            (std::vector<std::string>{"bsp", "3 / 3", "250 ms / 300 ms", "250 ms / 300 ms"}));
}

TEST(LaunchesInReports, OfOnlyOneWorldAreShown) {
  auto variant = started_again();
  variant.simulated.info.generations.clear();
  const Report report = report_of(variant);
  EXPECT_EQ(texts_of(launches_overview(report).rows.at(0)),
            (std::vector<std::string>{"bsp", "1 / 3", "- / 300 ms", "- / 300 ms"}));
  const Table table = launches_of_configuration(report.configurations[0]);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[2].cells[1].text, "- / 2.00 s");
  EXPECT_EQ(table.rows[2].cells[5].text, "-");
}

TEST(LaunchesInReports, AreInEveryForm) {
  const Report report = report_of(started_again());
  for (const auto& text : {summary_table(report), report_markdown(report), report_html(report)}) {
    EXPECT_THAT(text, HasSubstr("Launches of jobs that started again"));
    EXPECT_THAT(text, HasSubstr("250 ms / 300 ms"));
  }
  for (const auto& text : {report_markdown(report), report_html(report)})
    EXPECT_THAT(text, HasSubstr("Launched: simulated / measured"));
}

TEST(LaunchesInReports, OfJobsThatDidNotStartAgainAreNone) {
  const Report report = report_of(testing::synthetic_variant({}));
  EXPECT_TRUE(launches_of_configuration(report.configurations[0]).rows.empty());
  for (const auto& text : {summary_table(report), report_markdown(report)})
    EXPECT_THAT(text, Not(HasSubstr("started again")));
}

TEST(LaunchesInReports, AreInTheTimelineOfMachines) {
  auto variant = started_again();
  testing::set_members(variant.simulated, testing::two_departures());
  EXPECT_THAT(values_of(members_of_run(variant.simulated, {2}).launches),
              ElementsAre(Span(1, 1.5, 2.0), Span(2, 2.0, 2.25)));
}

TEST(LaunchesOfAResult, AreATable) {
  const Table table = launches_table(three_launches());
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(texts_of(table.rows[2]),
            (std::vector<std::string>{"2", "2.00 s", "2.25 s", "250 ms", "50", "the job was done"}));
  EXPECT_TRUE(launches_table({}).rows.empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation

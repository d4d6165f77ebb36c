// What reports say of samples from caches and stores.
#include "validation/report/data_section.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/synthetic_results.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_page.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::HasSubstr;

Report report_of(const VariantResults& variant) {
  const CompareOptions quick{.resampling = {.resamples = 50}};
  return make_report(std::vector{variant}, validate({variant}, 0.1, quick), {.title = "lab", .commands = {}});
}

/// The second epoch has 30 hits of 100, measured 29.
VariantResults with_two_epochs() {
  auto variant = testing::synthetic_variant({.cache = false});
  const auto change = [](Results& results, std::int64_t hits) {
    const auto node = static_cast<Rank>(results.info.roles.size());
    results.info.roles.emplace_back("cache-node");
    results.info.hosts.emplace_back("store");
    results.journal.caches = {{node, 0, "store", 100, 1000, Seconds(2), Seconds(2)},
                              {node, 1, "tier0", hits, 10 * hits, Seconds(0), Seconds(0)},
                              {node, 1, "store", 100 - hits, 1000 - 10 * hits, Seconds(1), Seconds(1)}};
    results.summary.data = summarise(results.info, results.journal, Seconds(results.summary.makespan_s)).data;
  };
  change(variant.simulated, 30);
  for (auto& run : variant.measured) change(run, 29);
  return variant;
}

TEST(DataSection, ColdAndWarmEpochsHaveRows) {
  const Report report = report_of(with_two_epochs());
  const Table table = data_table(report);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].cells[1].text, "cold epoch");
  EXPECT_EQ(table.rows[1].cells[1].text, "warm epochs");
  EXPECT_EQ(table.rows[1].cells[2].text, "30.0 % / 29.0 %");
  // Nobody recorded what was requested.
  EXPECT_EQ(table.rows[1].cells[3].text, "-");
  EXPECT_EQ(table.rows[1].cells[4].text, "-");
  EXPECT_THAT(report_html(report), HasSubstr("No figure of Belady: nodes did not record all requests"));
  const ReportConfiguration& configuration = report.configurations.at(0);
  const Table classes = classes_table(configuration.data.value());
  ASSERT_EQ(classes.rows.size(), 3U);
  EXPECT_EQ(classes.rows[1].cells[1].text, "store");
  EXPECT_EQ(classes.rows[1].cells[2].text, "70 / 71");
  const auto& epochs = configuration.detail.value().data.value().simulated;
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_EQ(epochs[1].classes.at("tier0").samples, 30);
  EXPECT_THAT(report_html(report), HasSubstr("Samples from caches and stores"));
}

/// 40 of the 100 samples, of which the simulation has 30 and the measurement 29.
TEST(DataSection, WhatBeladyReachesIsBesideTheRatio) {
  auto variant = with_two_epochs();
  const auto record = [](Results& results) {
    const Rank node = results.journal.caches.front().rank;
    results.journal.caches.push_back({node, 0, "belady", 0, 0});
    results.journal.caches.push_back({node, 1, "belady", 40, 400});
    results.summary.data = summarise(results.info, results.journal, Seconds(results.summary.makespan_s)).data;
  };
  record(variant.simulated);
  for (auto& run : variant.measured) record(run);
  const Report report = report_of(variant);
  const Table table = data_table(report);
  EXPECT_EQ(table.columns[4].name, "Belady");
  EXPECT_EQ(table.rows[1].cells[4].text, "40.0 % / 40.0 %");
  EXPECT_EQ(table.rows[1].cells[5].text, "75.0 % / 72.5 %");
  EXPECT_TRUE(missing_optima(report).empty());
}

TEST(DataSection, JobsWithoutCacheNodesHaveNone) {
  const Report report = report_of(testing::synthetic_variant({}));
  EXPECT_TRUE(data_table(report).rows.empty());
  EXPECT_FALSE(report.configurations.at(0).data);
  EXPECT_FALSE(report.configurations.at(0).detail->data);
}

TEST(DataSection, AResultAloneHasItsShares) {
  const auto variant = with_two_epochs();
  const Table table = classes_of_result(data_of_result(variant.simulated.summary).value());
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[2].cells[3].text, "30.0 %");
}

/// A study has a column for each class that any of its configurations has.
TEST(DataSection, ConfigurationsOfAStudyHaveTheirShares) {
  const DataOfStudy with{"cached", data_of_result(with_two_epochs().simulated.summary).value()};
  DataOfStudy peers{"peers", with.data};
  peers.data.cold.reset();
  peers.data.warm->classes["peer"] = {.samples = 5, .bytes = 50};
  const Table table = classes_of_study({with, peers});
  std::vector<std::string> columns;
  for (const auto& column : table.columns) columns.push_back(column.name);
  EXPECT_THAT(columns, ::testing::ElementsAre("Configuration", "Part", "peer", "store", "tier0"));
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table.rows) {
    rows.emplace_back();
    for (const auto& cell : row.cells) rows.back().push_back(cell.text);
  }
  EXPECT_THAT(rows, ::testing::ElementsAre(
                        std::vector<std::string>{"cached", "cold epoch", "-", "100 %", "-"},
                        std::vector<std::string>{"cached", "warm epochs", "-", "70.0 %", "30.0 %"},
                        std::vector<std::string>{"peers", "warm epochs", "5.00 %", "70.0 %", "30.0 %"}));
  EXPECT_TRUE(classes_of_study({}).rows.empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation

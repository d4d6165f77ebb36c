// What reports and studies say of several jobs on one platform: tables and figures.csv.
#include "validation/report/several_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/made_study.hpp"
#include "tests/support/synthetic_results.hpp"
#include "validation/report/figures_csv.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_page.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

VariantResults job_of(const std::string& name, double simulated_slow_down, double measured_slow_down) {
  auto variant = testing::synthetic_variant({.name = "lru/" + name, .cache = true});
  variant.group = "lab/" + name;
  variant.algorithm = "lru";
  variant.simulated.summary[several_jobs_key] = {{"slow_down", simulated_slow_down}};
  for (auto& run : variant.measured) run.summary[several_jobs_key] = {{"slow_down", measured_slow_down}};
  return variant;
}

json report_of_two() {
  const CompareOptions quick{.resampling = {.resamples = 50}};
  const std::vector<VariantResults> variants = {job_of("vision", 1.5, 1.6), job_of("late", 1.2, 1.2)};
  SeveralJobs several{.name = "lru", .jobs = {{"late", 2.0}, {"vision", 0.0}}};
  several.figures.push_back(
      {.key = "makespan", .name = "makespan of all jobs", .simulated = 11, .measured = 10, .error = 0.1});
  several.figures.push_back(
      {.key = "jain_index", .name = "Jain index", .unit = Unit::count, .simulated = 0.9, .measured = 0.9});
  return report_document(variants, validate(variants, 0.1, quick),
                         {.title = "lab", .commands = {}, .several_jobs = {several_jobs_document(several)}});
}

std::string cell(const Table& table, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == column) return table.rows.at(row).cells.at(i).text;
  return "no column " + column;
}

TEST(JobsOfAReport, HaveARowEachWithErrors) {
  const json document = report_of_two();
  const Table table = jobs_table(document);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell(table, 0, "Configuration"), "lru");
  EXPECT_EQ(cell(table, 0, "Job"), "late");
  EXPECT_EQ(cell(table, 0, "Begins"), "2.00 s");
  EXPECT_EQ(cell(table, 1, "Job"), "vision");
  EXPECT_EQ(cell(table, 1, "Slow-down against alone"), "1.50 / 1.60");
  const Table all = all_jobs_table(document);
  ASSERT_EQ(all.rows.size(), 2U);
  EXPECT_EQ(cell(all, 0, "Error"), "+10.0 %");
  EXPECT_EQ(cell(all, 1, "Simulated / measured"), "0.900 / 0.900");
  for (const std::string& page : {report_html(document), report_markdown(document), summary_table(document)})
    EXPECT_THAT(page, HasSubstr("Slow-down against alone"));
  // An error of each figure over all jobs: (0.0625 + 0) / 2.
  for (const json& errors : document.at("sets").at(0).at("errors"))
    if (errors.at("key") == "slow_down") {
      EXPECT_NEAR(errors.at("mape").get<double>(), 0.03125, 1e-9);
    }
}

TEST(JobsOfAReport, AreInTheCsvByJob) {
  const std::string csv = figures_csv(report_of_two());
  EXPECT_THAT(csv, HasSubstr("configuration,job,figure,unit,simulated,measured,error,noise_floor\n"));
  EXPECT_THAT(csv, HasSubstr("\nlru,vision,slow_down,,1.5,1.6,-0.0625"));
  EXPECT_THAT(csv, HasSubstr("\nlru,late,slow_down,,1.2,1.2,0,"));
  EXPECT_THAT(csv, HasSubstr("\nlru,,makespan,s,11,10,0.1,\n"));
  EXPECT_THAT(csv, HasSubstr("\nlru,vision,cache.hit_ratio,ratio,"));
}

TEST(JobsOfAReport, AreNotInReportsOfOneJob) {
  const CompareOptions quick{.resampling = {.resamples = 50}};
  auto variant = testing::synthetic_variant({.name = "bsp"});
  const json document =
      report_document({variant}, validate({variant}, 0.1, quick), {.title = "lab", .commands = {}});
  EXPECT_FALSE(document.contains("several_jobs"));
  EXPECT_THAT(report_html(document), Not(HasSubstr("Several jobs on one platform")));
  EXPECT_THAT(figures_csv(document), HasSubstr("\nbsp,,step_time,s,"));
}

/// The document of one configuration of two jobs.
json study_of_two(bool alone) {
  std::vector<json> configurations;
  json all = {{"jobs", {{"vision", {{"start_s", 0.0}}}, {"late", {{"start_s", 2.0}}}}}, {"makespan_s", 30.0}};
  if (alone) {
    all["jain_index"] = 0.8;
    all["slow_down"] = {{"min", 1.25}, {"max", 2.5}};
    all["jobs"]["vision"].update({{"alone", {{"makespan_s", 8.0}}}, {"slow_down", 2.5}});
    all["jobs"]["late"].update({{"alone", {{"makespan_s", 16.0}}}, {"slow_down", 1.25}});
  }
  json several = study_several_jobs(all);
  several["name"] = "lab";
  for (json& job : several.at("jobs")) {
    json own = testing::made_configuration({});
    const std::string name = job.at("job");
    own.update({{"name", "lab/" + name}, {"group", "lab/" + name}, {"job", name}});
    for (const char* key : {"start_s", "alone_makespan_s", "slow_down"}) own[key] = nullptr;
    if (alone) {
      own["slow_down"] = all.at("jobs").at(name).at("slow_down");
      own["alone_makespan_s"] = all.at("jobs").at(name).at("alone").at("makespan_s");
    }
    job["configuration"] = own.at("name");
    configurations.push_back(std::move(own));
  }
  several["least_capacity"] = {{"stall", 0.05},
                               {"capacity_bytes", 500},
                               {"data_set_bytes", 1000},
                               {"step_bytes", 5},
                               {"tried", {{0, 0.5}, {500, 0.04}, {1000, 0.0}}}};
  json document = study_document(std::move(configurations), "lab", {}, {"tandem study lab.yaml"});
  document["several_jobs"] = {several};
  return document;
}

TEST(JobsOfAStudy, HaveARowEachAndOneOfAll) {
  const json document = study_of_two(true);
  const Table table = study_jobs_table(document);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell(table, 0, "Job"), "late");
  EXPECT_EQ(cell(table, 0, "Slow-down"), "1.25");
  EXPECT_EQ(cell(table, 1, "alone"), "8.00 s");
  const Table all = study_all_jobs_table(document);
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_EQ(cell(all, 0, "Jobs"), "2");
  EXPECT_EQ(cell(all, 0, "Makespan of all"), "30.0 s");
  EXPECT_EQ(cell(all, 0, "Jain index"), "0.800");
  EXPECT_EQ(cell(all, 0, "Largest slow-down"), "2.50");
  for (const std::string& page : {study_html(document), study_markdown(document), study_table(document)})
    EXPECT_THAT(page, HasSubstr("Several jobs on one platform"));
  // One capacity for all jobs.
  EXPECT_THAT(study_markdown(document), HasSubstr("Least cache capacity"));
}

TEST(JobsOfAStudy, HaveNoSlowDownUnlessTheyWereAlone) {
  const json document = study_of_two(false);
  EXPECT_EQ(cell(study_jobs_table(document), 0, "Slow-down"), "no column Slow-down");
  EXPECT_EQ(cell(study_all_jobs_table(document), 0, "Jain index"), "no column Jain index");
}

TEST(JobsOfAStudy, AreAConfigurationEach) {
  const json made = testing::made_configuration({});
  json summary = {{"throughput", 1.0},
                  {"applied_throughput", 1.0},
                  {"rounds", 10},
                  {"makespan_s", 9.0},
                  {"samples", 10},
                  {"bytes", {{"sent", 1}, {"received", 1}}},
                  {"shares", nullptr},
                  {"exchange_shares", nullptr},
                  {"staleness", nullptr},
                  {"local_steps", {{"mean", 1}}},
                  {"phase_order", nullptr},
                  {"time_to_target", nullptr},
                  {"evaluations", json::array()},
                  {"step_time_s", {{"mean", 0.1}}}};
  json run = made.at("environment");
  run["experiment"] = made.at("experiment");
  run["command"] = "tandem simulate lab.yaml";
  const json all = {
      {"jobs", {{"late", {{"start_s", 2.0}, {"alone", {{"makespan_s", 6.0}}}, {"slow_down", 1.5}}}}}};
  const json job = study_job(
      {.name = "lab/late", .group = "lab/late", .algorithm = "lab", .coordinates = {{"job", "late"}}}, "late",
      all, summary, run, nullptr);
  EXPECT_EQ(job.at("job"), "late");
  EXPECT_EQ(job.at("start_s"), 2.0);
  EXPECT_EQ(job.at("alone_makespan_s"), 6.0);
  EXPECT_EQ(job.at("slow_down"), 1.5);
  EXPECT_EQ(job.at("makespan_s"), 9.0);
}

/// Jobs of one configuration that differ in their seeds alone are not the same job with several seeds.
TEST(JobsOfAStudy, AreAveragedOverSeedsOfTheSameJob) {
  std::vector<json> configurations;
  for (const char* seed : {"seed=1", "seed=2"})
    for (const char* job : {"first", "second"}) {
      json own = testing::made_configuration({});
      own.update({{"name", std::string(seed) + "/" + job}, {"job", job}, {"jobs_hash", "a"}});
      configurations.push_back(std::move(own));
    }
  configurations.push_back(configurations.front());
  configurations.back().update({{"name", "other/first"}, {"jobs_hash", "b"}});
  const json seeds = study_document(std::move(configurations), "lab", {}, {}).at("seeds");
  ASSERT_EQ(seeds.size(), 2U);
  EXPECT_EQ(seeds.at(0).at("configurations"), json({"seed=1/first", "seed=2/first"}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation

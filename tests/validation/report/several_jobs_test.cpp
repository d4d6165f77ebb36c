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

using ::testing::HasSubstr;
using ::testing::Not;

VariantResults job_of(const std::string& name, double simulated_slow_down, double measured_slow_down) {
  auto variant = testing::synthetic_variant({.name = "lru/" + name, .cache = true});
  variant.group = "lab/" + name;
  variant.algorithm = "lru";
  variant.simulated.among_jobs = JobSummary{.slow_down = simulated_slow_down};
  for (auto& run : variant.measured) run.among_jobs = JobSummary{.slow_down = measured_slow_down};
  return variant;
}

Report report_of_two() {
  const CompareOptions quick{.resampling = {.resamples = 50}};
  const std::vector<VariantResults> variants = {job_of("vision", 1.5, 1.6), job_of("late", 1.2, 1.2)};
  SeveralJobs several{.name = "lru", .jobs = {{"late", 2.0}, {"vision", 0.0}}};
  several.figures.push_back(
      {.key = "makespan", .name = "makespan of all jobs", .simulated = 11, .measured = 10, .error = 0.1});
  several.figures.push_back(
      {.key = "jain_index", .name = "Jain index", .unit = Unit::count, .simulated = 0.9, .measured = 0.9});
  return make_report(variants, validate(variants, 0.1, quick),
                     {.title = "lab", .commands = {}, .several_jobs = {report_jobs(several)}});
}

std::string cell(const Table& table, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == column) return table.rows.at(row).cells.at(i).text;
  return "no column " + column;
}

TEST(JobsOfAReport, HaveARowEachWithErrors) {
  const Report report = report_of_two();
  const Table table = jobs_table(report);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell(table, 0, "Configuration"), "lru");
  EXPECT_EQ(cell(table, 0, "Job"), "late");
  EXPECT_EQ(cell(table, 0, "Begins"), "2.00 s");
  EXPECT_EQ(cell(table, 1, "Job"), "vision");
  EXPECT_EQ(cell(table, 1, "Slow-down against alone"), "1.50 / 1.60");
  const Table all = all_jobs_table(report);
  ASSERT_EQ(all.rows.size(), 2U);
  EXPECT_EQ(cell(all, 0, "Error"), "+10.0 %");
  EXPECT_EQ(cell(all, 1, "Simulated / measured"), "0.900 / 0.900");
  for (const std::string& page : {report_html(report), report_markdown(report), summary_table(report)})
    EXPECT_THAT(page, HasSubstr("Slow-down against alone"));
  // An error of each figure over all jobs: (0.0625 + 0) / 2.
  const ErrorSummary* errors = report.sets.at(0).find("slow_down");
  ASSERT_NE(errors, nullptr);
  EXPECT_NEAR(errors->mape, 0.03125, 1e-9);
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
  const Report report =
      make_report(std::vector{variant}, validate({variant}, 0.1, quick), {.title = "lab", .commands = {}});
  EXPECT_FALSE(to_json(report).contains("several_jobs"));
  EXPECT_THAT(report_html(report), Not(HasSubstr("Several jobs on one platform")));
  EXPECT_THAT(figures_csv(report), HasSubstr("\nbsp,,step_time,s,"));
}

/// A study of one configuration of two jobs.
Study study_of_two(bool alone) {
  JobsSummary all{.jobs = {{"late", {.start_s = 2.0}}, {"vision", {}}}, .makespan_s = 30.0};
  if (alone) {
    all.jain_index = 0.8;
    all.slow_down = {1.25, 2.5};
    all.jobs["vision"].alone = {.makespan_s = 8.0};
    all.jobs["vision"].slow_down = 2.5;
    all.jobs["late"].alone = {.makespan_s = 16.0};
    all.jobs["late"].slow_down = 1.25;
  }
  std::vector<StudyResult> configurations;
  StudyJobs several = study_jobs(all);
  several.name = "lab";
  for (auto& job : several.jobs) {
    StudyResult own = testing::made_configuration({});
    own.name = own.group = job.configuration = "lab/" + job.job;
    own.job = job.job;
    const JobSummary& of_job = all.jobs.at(job.job);
    own.slow_down = of_job.slow_down;
    if (of_job.alone) own.alone_makespan_s = of_job.alone->makespan_s;
    configurations.push_back(std::move(own));
  }
  several.least_capacity = StudyCapacity{.stall = 0.05,
                                         .capacity_bytes = 500,
                                         .data_set_bytes = 1000,
                                         .step_bytes = 5,
                                         .tried = {{0, 0.5}, {500, 0.04}, {1000, 0.0}}};
  Study study = make_study(std::move(configurations), "lab", {}, {"tandem study lab.yaml"});
  study.several_jobs = {several};
  return study;
}

TEST(JobsOfAStudy, HaveARowEachAndOneOfAll) {
  const Study study = study_of_two(true);
  const Table table = study_jobs_table(study);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell(table, 0, "Job"), "late");
  EXPECT_EQ(cell(table, 0, "Slow-down"), "1.25");
  EXPECT_EQ(cell(table, 1, "alone"), "8.00 s");
  const Table all = study_all_jobs_table(study);
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_EQ(cell(all, 0, "Jobs"), "2");
  EXPECT_EQ(cell(all, 0, "Makespan of all"), "30.0 s");
  EXPECT_EQ(cell(all, 0, "Jain index"), "0.800");
  EXPECT_EQ(cell(all, 0, "Largest slow-down"), "2.50");
  for (const std::string& page : {study_html(study), study_markdown(study), study_table(study)})
    EXPECT_THAT(page, HasSubstr("Several jobs on one platform"));
  // One capacity for all jobs.
  EXPECT_THAT(study_markdown(study), HasSubstr("Least cache capacity"));
}

TEST(JobsOfAStudy, HaveNoSlowDownUnlessTheyWereAlone) {
  const Study study = study_of_two(false);
  EXPECT_EQ(cell(study_jobs_table(study), 0, "Slow-down"), "no column Slow-down");
  EXPECT_EQ(cell(study_all_jobs_table(study), 0, "Jain index"), "no column Jain index");
}

TEST(JobsOfAStudy, AreAConfigurationEach) {
  RunInfo run;
  run.command = "tandem simulate lab.yaml";
  const JobsSummary all{
      .jobs = {{"late", {.start_s = 2.0, .alone = JobSummary::Alone{.makespan_s = 6.0}, .slow_down = 1.5}}}};
  const StudyResult job = study_job(
      {.name = "lab/late", .group = "lab/late", .algorithm = "lab", .coordinates = {{"job", "late"}}}, "late",
      all, {.makespan_s = 9.0}, run, std::nullopt);
  EXPECT_EQ(job.job, "late");
  EXPECT_EQ(job.start_s, 2.0);
  EXPECT_EQ(job.alone_makespan_s, 6.0);
  EXPECT_EQ(job.slow_down, 1.5);
  EXPECT_EQ(job.makespan_s, 9.0);
}

/// Jobs of one configuration that differ in their seeds alone are not the same job with several seeds.
TEST(JobsOfAStudy, AreAveragedOverSeedsOfTheSameJob) {
  std::vector<StudyResult> configurations;
  for (const char* seed : {"seed=1", "seed=2"})
    for (const char* job : {"first", "second"}) {
      StudyResult own = testing::made_configuration({});
      own.name = std::string(seed) + "/" + job;
      own.job = job;
      own.jobs_hash = "a";
      configurations.push_back(std::move(own));
    }
  configurations.push_back(configurations.front());
  configurations.back().name = "other/first";
  configurations.back().jobs_hash = "b";
  const auto seeds = make_study(std::move(configurations), "lab", {}, {}).seeds;
  ASSERT_EQ(seeds.size(), 2U);
  EXPECT_THAT(seeds[0].configurations, ::testing::ElementsAre("seed=1/first", "seed=2/first"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation

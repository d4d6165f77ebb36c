// What several jobs have cost each other.
#include "workloads/records/jobs_summary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tandem {
namespace TANDEM_FILE {

TEST(JainIndex, IsOneOfEqualSharesAndOneOfNForOneThatHasAll) {
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{0.5, 0.5, 0.5}), 1.0);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1.0, 0.0, 0.0, 0.0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1.0, 0.5}), 1.5 * 1.5 / (2 * 1.25));
}

std::vector<JobInCompany> two_jobs() {
  return {{.name = "a", .together = {Seconds(20), Seconds(2)}, .alone = JobTimesOf{Seconds(10), Seconds(1)}},
          {.name = "b",
           .start = Seconds(5),
           .together = {Seconds(30), Seconds(3)},
           .alone = JobTimesOf{Seconds(30), Seconds(2)}}};
}

TEST(JobsSummary, HasSlowDownsAndJainIndexOfJobsThatWereAlone) {
  const auto jobs = two_jobs();
  const auto summary = to_json(jobs_summary(jobs));
  EXPECT_EQ(summary.at("makespan_s"), 35.0);
  EXPECT_EQ(summary.at("jobs").at("a").at("slow_down"), 2.0);
  EXPECT_EQ(summary.at("jobs").at("b").at("slow_down"), 1.0);
  EXPECT_EQ(summary.at("jobs").at("b").at("step_slow_down"), 1.5);
  EXPECT_EQ(summary.at("jobs").at("b").at("start_s"), 5.0);
  EXPECT_EQ(summary.at("slow_down").at("min"), 1.0);
  EXPECT_EQ(summary.at("slow_down").at("max"), 2.0);
  EXPECT_DOUBLE_EQ(summary.at("jain_index").get<double>(), 0.9);
  const std::string text = jobs_text(jobs);
  EXPECT_NE(text.find("slow-down 2.000"), std::string::npos) << text;
  EXPECT_NE(text.find("Jain index 0.900"), std::string::npos) << text;
}

TEST(JobsSummary, SaysNothingAboutWhatWasNotMeasured) {
  auto jobs = two_jobs();
  jobs[0].alone.reset();
  const auto summary = to_json(jobs_summary(jobs));
  EXPECT_FALSE(summary.contains("jain_index"));
  EXPECT_FALSE(summary.contains("slow_down"));
  EXPECT_FALSE(summary.at("jobs").at("a").contains("slow_down"));
  EXPECT_TRUE(summary.at("jobs").at("b").contains("slow_down"));
  EXPECT_EQ(jobs_text(jobs).find("Jain"), std::string::npos);
}

}  // namespace TANDEM_FILE
}  // namespace tandem

// Studies and validations of several jobs on one platform: what their reports say of each job and of all, and
// what is refused before anything is simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/several_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;

class JobsReports : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (line_.folder() / name).string(); }
  json read(const std::string& name) const { return json::parse(std::ifstream(path(name))); }
  std::string text(const std::string& name) const {
    std::ifstream stream(path(name));
    return rest_of(stream);
  }
  /// The experiment of several jobs becomes experiment.yaml, with modelled mathematics.
  void write_suite(const std::string& jobs, const std::string& more) const {
    line_.experiment(jobs);
    line_.write("suite.yaml", "experiments: experiment.yaml\nset: {workload.math: modelled}\n" + more);
  }
  static const json& find(const json& report, const std::string& name) {
    for (const auto& own : report.at("configurations"))
      if (own.at("name") == name) return own;
    static const json none;
    ADD_FAILURE() << name;
    return none;
  }
  CommandLine line_;
};
using LongJobsReports = JobsReports;

TEST_F(JobsReports, AStudyHasTheFiguresOfEachJobAndOfAll) {
  write_suite(three_jobs, "grid: {jobs.late.start: [0s, 0.5s]}\n");
  const auto result = line_.tandem("study suite.yaml --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Jain index"));
  const json report = read("out/report.json");
  ASSERT_EQ(report.at("configurations").size(), 6U);
  ASSERT_EQ(report.at("several_jobs").size(), 2U);
  ASSERT_EQ(line_.tandem("simulate experiment.yaml --out alone").exit_code, 0);
  const json simulated = read("alone/summary.json");
  const json& all = report.at("several_jobs").at(1);
  EXPECT_EQ(all.at("name"), "late.start=0.5s");
  for (const char* key : {"makespan_s", "jain_index", "slow_down"}) EXPECT_EQ(all.at(key), simulated.at(key));
  for (const json& job : all.at("jobs")) {
    const json& own = find(report, job.at("configuration"));
    const json& expected = simulated.at("jobs").at(job.at("job"));
    EXPECT_EQ(own.at("makespan_s"), expected.at("makespan_s"));
    EXPECT_EQ(own.at("slow_down"), expected.at("slow_down"));
    EXPECT_EQ(own.at("alone_makespan_s"), expected.at("alone").at("makespan_s"));
    EXPECT_EQ(job.at("start_s"), expected.at("start_s"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("out/late.start=0s/jobs")));
}

TEST_F(JobsReports, AStudyInShardsIsThatOfOneProcess) {
  write_suite(three_jobs, "grid: {jobs.late.start: [0s, 0.5s]}\nstudy: {alone: false}\n");
  ASSERT_EQ(line_.tandem("study suite.yaml --out whole").exit_code, 0);
  for (const char* shard : {"0/2", "1/2"})
    ASSERT_EQ(line_.tandem(std::string("study suite.yaml --out parts --shard ") + shard).exit_code, 0);
  const auto merged = line_.tandem("study merge parts");
  ASSERT_EQ(merged.exit_code, 0) << merged.output;
  EXPECT_EQ(text("parts/report.json"), text("whole/report.json"));
  const json report = read("whole/report.json");
  EXPECT_TRUE(report.at("several_jobs").at(0).at("jain_index").is_null());
  EXPECT_TRUE(report.at("configurations").at(0).at("slow_down").is_null());
  EXPECT_THAT(report.at("configurations").at(0).at("command").get<std::string>(),
              HasSubstr("--together-only"));
  // What an earlier study did not ask for is simulated now.
  write_suite(three_jobs, "grid: {jobs.late.start: [0s, 0.5s]}\n");
  ASSERT_EQ(line_.tandem("study suite.yaml --out whole --only-missing").exit_code, 0);
  EXPECT_TRUE(read("whole/report.json").at("several_jobs").at(0).at("jain_index").is_number());
}

/// The stall is the longest of a job.
TEST_F(LongJobsReports, AStudyFindsTheLeastCacheForAllJobs) {
  const std::string jobs = sharing_jobs(100, "minio", ", seed: 9");
  write_suite(jobs, "study: {stall: 0.999, alone: false}\n");
  ASSERT_EQ(line_.tandem("study suite.yaml --out easy").exit_code, 0);
  const auto least_in = [&](const std::string& folder) {
    return read(folder + "/report.json").at("several_jobs").at(0).at("least_capacity");
  };
  const json easy = least_in("easy");
  EXPECT_EQ(easy.at("capacity_bytes"), 0);
  const double without = easy.at("tried").at(0).at(1);
  ASSERT_EQ(line_
                .tandem("simulate experiment.yaml --set data.cache_capacity=0 "
                        "--together-only --out none")
                .exit_code,
            0);
  double longest = 0;
  for (const char* job : {"first", "second"})
    longest = std::max(longest, read(std::string("none/jobs/") + job + "/summary.json")
                                    .at("data")
                                    .at("warm")
                                    .at("stall")
                                    .get<double>());
  EXPECT_DOUBLE_EQ(without, longest);
  write_suite(jobs, "study: {stall: 1e-6, alone: false}\n");
  const auto none = line_.tandem("study suite.yaml --out none_suffices");
  ASSERT_EQ(none.exit_code, 0) << none.output;
  EXPECT_THAT(none.output, HasSubstr("none suffices"));
  const double with_all = least_in("none_suffices").at("tried").back().at(1);
  ASSERT_LT(with_all, without);
  const double limit = (without + with_all) / 2;
  write_suite(jobs, "study: {stall: " + std::to_string(limit) + ", alone: false}\n");
  const auto result = line_.tandem("study suite.yaml --out found");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const json found = least_in("found");
  ASSERT_TRUE(found.at("capacity_bytes").is_number()) << found;
  EXPECT_GT(found.at("capacity_bytes").get<double>(), 0.0);
  for (const json& tried : found.at("tried"))
    if (tried.at(0) == found.at("capacity_bytes")) {
      EXPECT_LE(tried.at(1).get<double>(), limit);
    }
  EXPECT_THAT(result.output, HasSubstr("Least cache capacity"));
}

TEST_F(LongJobsReports, BadInputIsRefusedBeforeAnythingIsSimulated) {
  struct Refusal {
    const char* more;
    const char* why;
  };
  for (const std::string command : {"study", "validate"})
    for (const Refusal& refusal :
         {Refusal{"grid:\n  jobs.lte.start: [1s]\n", "suite.yaml:4: key 'jobs.lte.start': expected a job of"},
          Refusal{"grid:\n  jobs.lte.start: [1s]\n",
                  "(servers | ring | late), found 'lte'; did you mean 'late'?"},
          Refusal{"grid:\n  jobs.late.workload.bach: [1]\n",
                  "suite.yaml:4: unknown key 'jobs.late.workload.bach'; did you mean 'workload.batch'?"},
          Refusal{"grid:\n  jobs.late.start: [-1s]\n",
                  "suite.yaml:4: key 'jobs.late.start': expected time >= 0 (like 10s; ns us ms s min h d), "
                  "found '-1s'"},
          Refusal{"grid:\n  jobs.ring.sync.collective: [native]\n", "job 'ring': sync.collective: expected"},
          Refusal{"grid:\n  jobs.late.placement.workers: ['[nowhere]']\n", "nowhere"}}) {
      write_suite(three_jobs, refusal.more);
      const auto refused = line_.tandem(command + " suite.yaml --out out");
      EXPECT_EQ(refused.exit_code, 2) << command << refusal.more << refused.output;
      EXPECT_THAT(refused.output, HasSubstr(refusal.why)) << command;
      EXPECT_FALSE(std::filesystem::exists(path("out")));
    }
}

TEST_F(JobsReports, AValidationRefusesWhatItCannotCalibrateOrRun) {
  const std::string several = line_.experiment(three_jobs);
  const std::string file = text("experiment.yaml");
  const std::string one = line_.write("one.yaml", file.substr(0, file.find("jobs:")));
  const std::pair<std::string, std::string> words[] = {
      {several + " --set workload.math=real", "expected the same workload in all jobs"},
      {several + " --hosts localhost:12", "expected this machine, or --cluster"},
      {one + " --alone", "expected an experiment of several jobs (key jobs)"}};
  for (const auto& [own, why] : words) {
    const auto refused = line_.tandem("validate " + own + " --out out");
    EXPECT_EQ(refused.exit_code, 2) << own << refused.output;
    EXPECT_THAT(refused.output, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(path("out")));
  }
}

#ifdef TANDEM_TESTS_RUN

/// Other programs may disturb the measurement.
void expect_concluded(const CommandResult& result, const json& report) {
  EXPECT_EQ(result.exit_code, report.at("passed").get<bool>() ? 0 : 1) << result.output;
  if (!report.at("passed")) {
    EXPECT_EQ(report.at("state"), "INCONCLUSIVE") << result.output;
  }
}

TEST_F(LongJobsReports, AValidationComparesEachJobAndItsSlowDown) {
  line_.experiment(three_jobs);
  const auto result = line_.tandem(
      "validate experiment.yaml --set warmup_steps=1 --alone --trace-both "
      "--tolerance 1000 --out out");
  const json report = read("out/report.json");
  expect_concluded(result, report);
  ASSERT_EQ(report.at("configurations").size(), 3U) << result.output;
  for (const auto& own : report.at("configurations")) {
    EXPECT_EQ(own.at("failure"), "");
    EXPECT_EQ(own.at("gates").at("replay").at("state"), "passed") << own.at("gates");
    bool has_slow_down = false;
    for (const auto& figure : own.at("figures")) has_slow_down |= figure.at("key") == "slow_down";
    EXPECT_TRUE(has_slow_down) << own.at("name");
  }
  ASSERT_EQ(report.at("several_jobs").size(), 1U);
  EXPECT_EQ(report.at("several_jobs").at(0).at("jobs").size(), 3U);
  const std::string csv = text("out/figures.csv");
  for (const char* line : {"\nexperiment,late,slow_down,,", "\nexperiment,ring,makespan,s,",
                           "\nexperiment,,jain_index,,", "\nexperiment,,makespan,s,"})
    EXPECT_THAT(csv, HasSubstr(line));
  EXPECT_THAT(result.output, HasSubstr("Several jobs on one platform"));
  for (const char* job : {"servers", "ring", "late"})
    EXPECT_TRUE(std::filesystem::exists(path(std::string("out/job/trace-") + job + ".json"))) << job;
}

/// Its classes are compared by job. A finished run is kept when the validation is resumed, unless its jobs
/// begin at other times then.
TEST_F(LongJobsReports, AValidationOfASharedCacheComparesWhereSamplesCameFrom) {
  line_.experiment(sharing_jobs(100, "minio", ", seed: 9"));
  const auto write_suite_with = [&](const std::string& more) {
    line_.write("suite.yaml", "experiments: experiment.yaml\nset: {workload.math: modelled, warmup_steps: 1" +
                                  more + "}\ngrid: {data.cache: [minio, lru]}\ntolerance: 1000\n");
  };
  write_suite_with("");
  const auto result = line_.tandem("validate suite.yaml --out out");
  const json report = read("out/report.json");
  expect_concluded(result, report);
  ASSERT_EQ(report.at("configurations").size(), 4U) << result.output;
  for (const auto& own : report.at("configurations")) {
    EXPECT_EQ(own.at("failure"), "");
    EXPECT_NE(own.at("gates").at("decisions").at("state"), "failed") << own.at("gates");
    EXPECT_NE(own.at("gates").at("operations").at("state"), "failed") << own.at("gates");
    EXPECT_TRUE(own.at("data").is_object());
  }
  // A cache that keeps its first samples hits its capacity in each warm epoch, in both worlds.
  const std::string csv = text("out/figures.csv");
  EXPECT_THAT(csv, HasSubstr("\nminio,first,warm.tier0.samples,,200,200,0,"));
  EXPECT_THAT(csv, HasSubstr("\nminio,second,epoch_time,s,"));
  EXPECT_THAT(csv, HasSubstr("\nlru,,shared_hit_ratio,ratio,"));
  EXPECT_EQ(csv.find("slow_down"), std::string::npos);
  const auto kept = std::filesystem::last_write_time(path("out/minio/measured-0/jobs.json"));
  std::filesystem::remove(path("out/lru/measured-0/jobs/second/run.json"));
  line_.write("out/INCOMPLETE", "");
  const auto resumed = line_.tandem("validate suite.yaml --out out --resume");
  expect_concluded(resumed, read("out/report.json"));
  EXPECT_EQ(std::filesystem::last_write_time(path("out/minio/measured-0/jobs.json")), kept);
  EXPECT_TRUE(std::filesystem::exists(path("out/lru/measured-0/jobs/second/run.json")));

  write_suite_with(", jobs.second.start: 0.2s");
  line_.write("out/INCOMPLETE", "");
  const auto later = line_.tandem("validate suite.yaml --out out --resume --only minio");
  expect_concluded(later, read("out/report.json"));
  for (const char* world : {"simulated", "measured-0"}) {
    const json jobs = read(std::string("out/minio/") + world + "/jobs.json").at("experiment").at("jobs");
    EXPECT_EQ(jobs.at("second").at("start_s"), 0.2) << world;
  }
}

#endif

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

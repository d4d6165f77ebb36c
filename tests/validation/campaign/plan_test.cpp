// A campaign with a runner that fabricates results: the order of runs, disturbed runs, failures and
// conclusions.
#include "validation/campaign/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/support/synthetic_results.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SuiteConfiguration configuration_of(const std::string& name, Experiment::Workload::Math math,
                                    int repetitions) {
  SuiteConfiguration configuration;
  configuration.name = configuration.folder = configuration.algorithm = name;
  configuration.group = "all";
  configuration.experiment.workload.math = math;
  configuration.experiment.repetitions = repetitions;
  return configuration;
}

Suite suite_of(std::size_t configurations, int repetitions, std::uint64_t seed = 1) {
  Suite suite;
  suite.seed = seed;
  for (std::size_t i = 0; i < configurations; ++i)
    suite.configurations.push_back(
        configuration_of("c" + std::to_string(i), Experiment::Workload::Math::real, repetitions));
  return suite;
}

std::vector<std::string> folders_of(const std::vector<Task>& tasks) {
  std::vector<std::string> folders;
  for (const auto& task : tasks) folders.push_back(task.out);
  return folders;
}

TEST(Plan, SimulationsComeFirstInOrderThenRunsShuffledBySeed) {
  const auto tasks = plan(suite_of(8, 2), "out", false);
  ASSERT_EQ(tasks.size(), 24U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(tasks[i].kind, Task::Kind::simulation);
    EXPECT_EQ(tasks[i].configuration, i);
    EXPECT_EQ(tasks[i].out, "out/c" + std::to_string(i) + "/simulated");
  }
  const auto folders = folders_of(tasks);
  auto runs = std::vector(folders.begin() + 8, folders.end());
  EXPECT_FALSE(std::is_sorted(runs.begin(), runs.end()));
  EXPECT_EQ(folders_of(plan(suite_of(8, 2), "out", false)), folders) << "the same seed gives the same order";
  EXPECT_NE(folders_of(plan(suite_of(8, 2, 2), "out", false)), folders);
  std::sort(runs.begin(), runs.end());
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_EQ(runs[i], "out/c" + std::to_string(i / 2) + "/measured-" + std::to_string(i % 2));
}

TEST(Plan, ModelledMathematicsIsSimulatedThreeTimesAndAWitnessOnce) {
  Suite suite;
  suite.configurations = {configuration_of("m", Experiment::Workload::Math::modelled, 1)};
  EXPECT_THAT(folders_of(plan(suite, "out", true)),
              ElementsAre("out/m/simulated", "out/m/simulated-1", "out/m/simulated-2", "out/m/smpi",
                          "out/m/measured-0"));
  suite.configurations[0].experiment.data.source = DataSource::storage;
  EXPECT_EQ(plan(suite, "out", true).size(), 4U) << "SMPI has no storage";
}

TEST(Plan, AnEnsembleIsOneSimulation) {
  Suite suite;
  suite.configurations = {configuration_of("m", Experiment::Workload::Math::modelled, 1)};
  Experiment& experiment = suite.configurations[0].experiment;
  experiment.sync.algorithm = "asp";
  EXPECT_THAT(folders_of(plan(suite, "out", false)), ElementsAre("out/m/simulated", "out/m/measured-0"));
  experiment.physics.ensemble = 0;
  EXPECT_EQ(plan(suite, "out", false).size(), 4U);
}

TEST(Calibrations, AreSharedByWhatTheyDependOn) {
  Suite suite = suite_of(3, 1);
  suite.configurations[1].experiment.workload.batch = 7;
  suite.configurations[2].calibration = true;
  auto groups = plan_calibrations(suite, false);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(groups[0].configurations, ElementsAre(0, 2));
  EXPECT_EQ(groups[0].representative, 2U) << "only the calibration set may provide settings";
  suite.configurations[0].experiment.platform = "other.xml";
  EXPECT_EQ(plan_calibrations(suite, false).size(), 2U);
  EXPECT_EQ(plan_calibrations(suite, true).size(), 3U) << "each emulated cluster has its own";
}

/// Two jobs, "vision" and "late".
SuiteConfiguration two_jobs(Experiment::Workload::Math math) {
  SuiteConfiguration configuration = configuration_of("shared", math, 2);
  for (const char* name : {"vision", "late"})
    configuration.jobs.push_back({name, Seconds(0), configuration.experiment});
  return configuration;
}

TEST(Plan, SeveralJobsAreOneTaskWithoutEnsembleAndWitness) {
  Suite suite;
  suite.configurations = {two_jobs(Experiment::Workload::Math::modelled)};
  for (auto& job : suite.configurations[0].jobs) job.experiment.sync.algorithm = "asp";
  suite.configurations[0].experiment.sync.algorithm = "asp";
  EXPECT_EQ(plan(suite, "out", true).size(), 5U) << "three simulations and two runs";
  suite.configurations[0].jobs[1].experiment.workload.math = Experiment::Workload::Math::real;
  EXPECT_EQ(plan(suite, "out", true).size(), 3U) << "real mathematics takes as long as the run";
}

TEST(SeveralJobs, HaveAlgorithmsOfTheirOwnAndMayBeShownAlone) {
  Suite suite;
  suite.configurations = {two_jobs(Experiment::Workload::Math::modelled),
                          configuration_of("other", Experiment::Workload::Math::modelled, 1)};
  SuiteConfiguration& shared = suite.configurations[0];
  shared.algorithm = "wide/bsp";
  shared.experiment.sync.algorithm = shared.jobs[0].experiment.sync.algorithm = "bsp";
  shared.jobs[1].experiment.sync.algorithm = "asp";
  const auto entries = shared.entries();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].algorithm, "wide/bsp");
  EXPECT_EQ(entries[1].algorithm, "wide/asp");
  EXPECT_EQ(shared.shown_entries().size(), 2U);

  Suite late = suite;
  keep_only(late, {"shared/late"});
  ASSERT_EQ(late.configurations.size(), 1U);
  EXPECT_EQ(late.configurations[0].jobs.size(), 2U) << "both are carried out";
  ASSERT_EQ(late.configurations[0].shown_entries().size(), 1U);
  EXPECT_EQ(late.configurations[0].shown_entries()[0].name, "shared/late");
  Suite both = suite;
  keep_only(both, {"shared/late", "shared"});
  EXPECT_EQ(both.configurations[0].shown_entries().size(), 2U);
  EXPECT_THAT([&] { keep_only(suite, {"shared/lat"}); },
              ::testing::ThrowsMessage<ConfigError>(HasSubstr("did you mean 'shared/late'?")));
}

TEST(Calibrations, WithRealMathematicsAreOfOneWorkload) {
  Suite suite;
  suite.configurations = {two_jobs(Experiment::Workload::Math::real)};
  EXPECT_EQ(plan_calibrations(suite, false).size(), 1U);
  suite.configurations[0].jobs[1].experiment.workload.batch = 7;
  EXPECT_THAT([&] { plan_calibrations(suite, false); },
              ::testing::ThrowsMessage<ConfigError>(
                  HasSubstr("'shared': expected the same workload in all jobs, because one calibration "
                            "measures real mathematics of one workload, found another in job 'late'")));
  for (auto& job : suite.configurations[0].jobs)
    job.experiment.workload.math = Experiment::Workload::Math::modelled;
  EXPECT_EQ(plan_calibrations(suite, false).size(), 1U);
}

/// Fabricates the results of each task, and counts attempts.
class FakeRunner {
 public:
  Runner runner() {
    Runner runner;
    runner.run = [this](const Task& task) {
      const int attempt = attempts[task.out]++;
      if (failing == task.out || (attempt == 1 && repetition_fails)) throw std::runtime_error("mpirun ended");
      fs::create_directories(task.out);
      std::ofstream(task.out + "/attempt") << attempt;
      const auto& own = loads[task.out];
      return static_cast<std::size_t>(attempt) < own.size() ? own[static_cast<std::size_t>(attempt)] : 0.0;
    };
    runner.read = [](const Task& task) {
      const bool simulated = task.kind == Task::Kind::simulation;
      return testing::synthetic_run({.rounds = 6}, simulated ? "simulated" : "measured", {},
                                    static_cast<std::uint64_t>(task.repetition) + 1);
    };
    runner.read_job = [read = runner.read, this](const Task& task, const std::string& job) {
      jobs_read.push_back(fs::path(task.out).filename().string() + ' ' + job);
      return read(task);
    };
    runner.read_all = [this](const Task& task) {
      const std::string name = fs::path(task.out).filename();
      return JobsSummary{.jobs = {{"vision", {.start_s = 0}}, {"late", {.start_s = 2}}},
                         .makespan_s = makespans.contains(name) ? makespans.at(name) : 10.0};
    };
    runner.message = [this](const std::string& text) { messages.push_back(text); };
    runner.compared = [this](std::size_t configuration, const VariantResults& results, const Comparison&) {
      compared.push_back(configuration);
      measured += results.measured.size();
    };
    return runner;
  }
  int kept_attempt(const std::string& out) const {
    int attempt = -1;
    std::ifstream(out + "/attempt") >> attempt;
    return attempt;
  }

  std::map<std::string, std::vector<double>> loads;  ///< of other programs, by attempt
  std::map<std::string, int> attempts;
  std::string failing;
  bool repetition_fails = false;
  std::map<std::string, double> makespans;  ///< of several jobs, by folder of the task
  std::vector<std::string> jobs_read;
  std::vector<std::string> messages;
  std::vector<std::size_t> compared;
  std::size_t measured = 0;
};

class Campaign : public ::testing::Test {
 protected:
  CampaignResults carry_out_all(const Suite& suite) {
    return carry_out(suite, plan(suite, out_, false), fake_.runner());
  }
  testing::TemporaryFolder folder_;
  std::string out_ = folder_.path().string();
  std::string run_ = out_ + "/c0/measured-0";
  FakeRunner fake_;
};

TEST_F(Campaign, EveryTaskIsCarriedOutOnceAndCompared) {
  const Suite suite = suite_of(2, 3);
  const auto results = carry_out_all(suite);
  EXPECT_EQ(fake_.attempts.size(), 8U);
  for (const auto& [out, attempts] : fake_.attempts) EXPECT_EQ(attempts, 1) << out;
  EXPECT_THAT(fake_.compared, ElementsAre(0, 1));
  EXPECT_EQ(fake_.measured, 6U);
  EXPECT_EQ(results.repeated, 0);
  EXPECT_EQ(results.first_error, nullptr);
  EXPECT_TRUE(conclude(results.configurations, 10.0).passed());
  EXPECT_FALSE(conclude(results.configurations, 1e-9).passed());
}

/// Simulations of a second foretell runs of 10 s with the start of their processes, which take twice as long.
TEST_F(Campaign, KnowsTheTimeOfItsRunsFromTheirSimulations) {
  const Suite suite = suite_of(2, 2);
  Runner runner = fake_.runner();
  double now_s = 0;
  runner.run = [&now_s, run = runner.run](const Task& task) {
    now_s += task.kind == Task::Kind::run ? 20 : 1;
    return run(task);
  };
  runner.now = [&now_s] { return Seconds(now_s); };
  runner.foretold = [](const Task&) { return Seconds(8); };
  std::vector<double> left_s;
  runner.progress = [&left_s](double, std::optional<Seconds> left) {
    left_s.push_back(left ? left->count() : -1);
  };
  carry_out(suite, plan(suite, out_, false), runner);
  EXPECT_THAT(left_s, ElementsAre(-1, -1, 40, 60, 40, 20));
}

TEST_F(Campaign, ADisturbedRunIsRepeatedOnceAndTheBetterIsKept) {
  fake_.loads[run_] = {0.5, 0.2};
  EXPECT_EQ(carry_out_all(suite_of(1, 1)).repeated, 1);
  EXPECT_EQ(fake_.attempts[run_], 2) << "one repetition, though it was disturbed too";
  EXPECT_EQ(fake_.kept_attempt(run_), 1);
  EXPECT_FALSE(fs::exists(run_ + "-disturbed"));
  ASSERT_EQ(fake_.messages.size(), 1U);
  EXPECT_THAT(fake_.messages[0],
              HasSubstr("1 runs were repeated because other programs used more than 10 %"));
}

TEST_F(Campaign, ARepetitionThatIsWorseIsThrownAway) {
  fake_.loads[run_] = {0.2, 0.5};
  EXPECT_EQ(carry_out_all(suite_of(1, 1)).repeated, 1);
  EXPECT_EQ(fake_.kept_attempt(run_), 0);
  EXPECT_FALSE(fs::exists(run_ + "-disturbed"));
}

TEST_F(Campaign, ARepetitionThatFailsLeavesTheDisturbedRun) {
  fake_.loads[run_] = {0.2};
  fake_.repetition_fails = true;
  const auto results = carry_out_all(suite_of(1, 1));
  EXPECT_EQ(results.configurations[0].failure, "");
  EXPECT_EQ(fake_.kept_attempt(run_), 0);
  EXPECT_THAT(fake_.messages[0],
              HasSubstr("c0: the repeated run failed, the disturbed run is kept: mpirun ended"));
}

TEST_F(Campaign, OnlyDisturbedMeasuredRunsAreRepeated) {
  fake_.loads[run_] = {0.1};
  fake_.loads[out_ + "/c0/simulated"] = {0.9};
  EXPECT_EQ(carry_out_all(suite_of(1, 1)).repeated, 0);
  EXPECT_EQ(fake_.attempts[out_ + "/c0/simulated"], 1);
}

TEST_F(Campaign, AFailedConfigurationIsSkippedAndTheOthersContinue) {
  fake_.failing = out_ + "/c0/simulated";
  const auto results = carry_out_all(suite_of(2, 1));
  EXPECT_EQ(results.configurations[0].failure, "mpirun ended");
  EXPECT_FALSE(results.configurations[0].comparison);
  EXPECT_TRUE(results.configurations[1].comparison);
  EXPECT_EQ(fake_.attempts.count(run_), 0U) << "no run of a configuration that failed";
  EXPECT_THROW(std::rethrow_exception(results.first_error), std::runtime_error);
  const auto validation = conclude(results.configurations, 10.0);
  EXPECT_FALSE(validation.passed()) << "a failed configuration fails the validation";
  EXPECT_THAT(validation.verdict, HasSubstr("1 of 2 configurations failed ('c0')"));
}

TEST_F(Campaign, FinishedTasksAndFailedCalibrationsAreNotCarriedOut) {
  const Suite suite = suite_of(2, 1);
  Runner runner = fake_.runner();
  runner.is_finished = [](const Task& task) { return task.kind == Task::Kind::simulation; };
  const auto results = carry_out(suite, plan(suite, out_, false), runner, {"", "the calibration failed"});
  EXPECT_EQ(fake_.attempts.size(), 1U);
  EXPECT_EQ(fake_.attempts[run_], 1);
  EXPECT_EQ(results.configurations[1].failure, "the calibration failed");
  EXPECT_THAT(fake_.messages, IsEmpty());
}

/// All jobs are those of the simulation that took neither the shortest nor the longest time.
TEST_F(Campaign, JobsAreComparedOneByOneAndTogether) {
  Suite suite = suite_of(1, 1);
  suite.configurations.push_back(two_jobs(Experiment::Workload::Math::modelled));
  fake_.makespans = {{"simulated", 12}, {"simulated-1", 11}, {"simulated-2", 19}, {"measured-0", 9}};
  const auto results = carry_out_all(suite);
  ASSERT_EQ(results.configurations.size(), 3U);
  EXPECT_EQ(results.configurations[1].name, "shared/vision");
  EXPECT_EQ(results.configurations[2].name, "shared/late");
  EXPECT_EQ(results.configurations[2].group, "all/late");
  EXPECT_THAT(fake_.compared, ElementsAre(0, 1, 2));
  EXPECT_THAT(fake_.jobs_read, ElementsAre("simulated vision", "measured-0 vision", "measured-1 vision",
                                           "simulated late", "measured-0 late", "measured-1 late"));
  ASSERT_EQ(results.several_jobs.size(), 1U);
  EXPECT_EQ(results.several_jobs[0].name, "shared");
  ASSERT_EQ(results.several_jobs[0].figures.size(), 1U);
  EXPECT_EQ(results.several_jobs[0].figures[0].simulated, 12);
  EXPECT_EQ(results.several_jobs[0].figures[0].measured, 9.5);
}

TEST_F(Campaign, AllJobsOfAConfigurationFailTogether) {
  Suite suite = suite_of(1, 1);
  suite.configurations.insert(suite.configurations.begin(), two_jobs(Experiment::Workload::Math::modelled));
  Runner runner = fake_.runner();
  runner.compared = [](std::size_t entry, const VariantResults&, const Comparison&) {
    if (entry == 1) throw ConfigError("the profile was measured after the run");
  };
  const auto results = carry_out(suite, plan(suite, out_, false), runner);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(results.configurations[i].failure, "the profile was measured after the run");
    EXPECT_FALSE(results.configurations[i].comparison);
  }
  EXPECT_EQ(results.configurations[2].failure, "");
  EXPECT_TRUE(results.several_jobs.empty());
  EXPECT_THAT(fake_.messages, ElementsAre("shared: the profile was measured after the run"));
  const auto calibrations = carry_out(suite, plan(suite, out_, false), fake_.runner(), {"no calibration"});
  EXPECT_EQ(calibrations.configurations[1].failure, "no calibration");
  EXPECT_EQ(calibrations.configurations[2].failure, "");
}

TEST_F(Campaign, AnErrorOfAComparisonFailsItsConfiguration) {
  const Suite suite = suite_of(2, 1);
  Runner runner = fake_.runner();
  runner.compared = [](std::size_t configuration, const VariantResults&, const Comparison&) {
    if (configuration == 1) throw ConfigError("the profile was measured after the run");
  };
  const auto results = carry_out(suite, plan(suite, out_, false), runner);
  EXPECT_EQ(results.configurations[0].failure, "");
  EXPECT_EQ(results.configurations[1].failure, "the profile was measured after the run");
  EXPECT_FALSE(results.configurations[1].comparison);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation

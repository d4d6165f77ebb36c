// Several jobs on one platform: simulated, run in one mpirun, and refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#ifdef TANDEM_TESTS_RUN
#include "validation/compare/compare.hpp"
#endif
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace {

const std::string three =
    "jobs:\n"
    "  servers: {}\n"
    "  ring: {sync.over: all-reduce, placement.workers: [node-1, node-2], seed: 5}\n"
    "  late: {start: 0.5s, sync.algorithm: asp, workload.batch: 4, placement.workers: [node-4, node-5], "
    "stop.rounds: 3}\n";

class SeveralJobs : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (line_.folder() / name).string(); }
  nlohmann::json summary(const std::string& directory) const {
    return nlohmann::json::parse(std::ifstream(path(directory) + "/summary.json"));
  }
  Results results(const std::string& directory) const { return read_results(path(directory)); }
  CommandLine line_;
};

TEST_F(SeveralJobs, AreSimulatedTogetherAndAlone) {
  const std::string file = line_.experiment(three);
  const auto simulated = line_.tandem("simulate " + file + " --set workload.math=modelled --out out");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto all = summary("out");
  for (const char* name : {"servers", "ring", "late"}) {
    SCOPED_TRACE(name);
    const Results together = results(std::string("out/jobs/") + name);
    const Results alone = results(std::string("out/alone/") + name);
    EXPECT_EQ(together.journal.steps.size(), alone.journal.steps.size());
    EXPECT_EQ(together.info.experiment.name, "experiment/" + std::string(name));
    EXPECT_EQ(together.info.physics.at("other_jobs").size(), 2U);
    EXPECT_FALSE(alone.info.physics.contains("other_jobs"));
    const auto& of_job = all.at("jobs").at(name);
    EXPECT_EQ(of_job.at("makespan_s"), together.summary.at("makespan_s"));
    EXPECT_EQ(of_job.at("alone").at("makespan_s"), alone.summary.at("makespan_s"));
    EXPECT_GE(of_job.at("slow_down").get<double>(), 1.0 - 1e-6);
  }
  EXPECT_EQ(all.at("jobs").at("late").at("start_s"), 0.5);
  // Its time counts from its own start.
  EXPECT_LT(results("out/jobs/late").journal.steps.front().start.count(), 0.1);
  // The first two share the device of node-1.
  EXPECT_GT(all.at("slow_down").at("max").get<double>(), 1.05);
  EXPECT_GT(all.at("jain_index").get<double>(), 0.0);
  EXPECT_LE(all.at("jain_index").get<double>(), 1.0);
  for (const char* text : {"job ring: ", "slow-down ", "Jain index "})
    EXPECT_NE(simulated.output.find(text), std::string::npos) << simulated.output;
  // Results of one job are as those of any job, and those of several say what they are.
  EXPECT_EQ(line_.tandem("view out").exit_code, 0);
  const auto several = line_.tandem("compare out out/jobs/ring");
  EXPECT_EQ(several.exit_code, 2);
  EXPECT_NE(several.output.find("name one of out/jobs/*"), std::string::npos) << several.output;
  // Another simulation may replace it.
  EXPECT_EQ(line_.tandem("simulate " + file + " --out out").exit_code, 2);
  EXPECT_EQ(
      line_.tandem("simulate " + file + " --set workload.math=modelled --together-only --force --out out")
          .exit_code,
      0);
  EXPECT_FALSE(std::filesystem::exists(path("out/alone")));
  EXPECT_FALSE(summary("out").contains("jain_index"));
}

TEST_F(SeveralJobs, WithRealMathematicsTrainTheModelsOfEachAlone) {
  const auto simulated =
      line_.tandem("simulate " + line_.experiment(three + "evaluate_every: 3\n") + " --out out");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  for (const std::string name : {"servers", "ring"}) {
    const auto together = results("out/jobs/" + name).journal, alone = results("out/alone/" + name).journal;
    ASSERT_EQ(together.evaluations.size(), alone.evaluations.size());
    ASSERT_FALSE(together.evaluations.empty());
    for (std::size_t i = 0; i < together.evaluations.size(); ++i)
      EXPECT_EQ(together.evaluations[i].accuracy, alone.evaluations[i].accuracy) << name;
  }
}

TEST_F(SeveralJobs, AreShownAsAnExperimentThatIsTheSame) {
  const auto shown = line_.tandem("show " + line_.experiment(three));
  ASSERT_EQ(shown.exit_code, 0) << shown.output;
  const auto again = line_.tandem("show " + line_.write("again.yaml", shown.output));
  EXPECT_EQ(again.output, shown.output);
}

TEST_F(SeveralJobs, OtherCommandsAndOptionsRefuseThem) {
  const std::string file = line_.experiment(three);
  for (const std::string& words :
       std::vector<std::string>{"validate " + file, "study " + file, "simulate " + file + " --fidelity smpi",
                                "simulate " + file + " --set recovery.mode=restart --set evaluate_every=2",
                                "simulate " + file + " --set jobs.ring.sync.collective=native",
                                "simulate " + file + " --set jobs.x=1"}) {
    const auto refused = line_.tandem(words + " --out out");
    EXPECT_EQ(refused.exit_code, 2) << words << "\n" << refused.output;
    EXPECT_NE(refused.output.find("jobs"), std::string::npos) << refused.output;
    EXPECT_FALSE(std::filesystem::exists(path("out"))) << words;
  }
}

TEST_F(SeveralJobs, CannotBeResumed) {
  const auto simulated = line_.tandem("simulate " + line_.experiment(three) +
                                      " --set workload.math=modelled --together-only --out out");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  // As a measurement leaves it when it is ended early.
  std::filesystem::create_directories(path("early/jobs/ring"));
  line_.write("early/job.json", R"({"jobs": []})");
  for (const char* folder : {"out", "out/jobs/ring", "early", "early/jobs/ring/"}) {
    const auto refused = line_.tandem("simulate --resume " + path(folder));
    EXPECT_EQ(refused.exit_code, 2) << folder << refused.output;
    EXPECT_NE(refused.output.find("several jobs (key jobs), which cannot be resumed"), std::string::npos)
        << refused.output;
  }
}

TEST_F(SeveralJobs, OptionsOfThemAreRefusedForOneJob) {
  const std::string file = line_.experiment("");
  std::vector<std::string> all = {"simulate " + file + " --together-only"};
#ifdef TANDEM_TESTS_RUN
  all.push_back("run " + file + " --alone");
#endif
  for (const std::string& words : all) {
    const auto refused = line_.tandem(words + " --out out");
    EXPECT_EQ(refused.exit_code, 2) << refused.output;
    EXPECT_NE(refused.output.find("expected an experiment of several jobs (key jobs)"), std::string::npos)
        << refused.output;
    EXPECT_FALSE(std::filesystem::exists(path("out")));
  }
}

TEST_F(SeveralJobs, OfTheShippedExperimentSlowEachOtherDown) {
  const auto simulated =
      line_.tandem("simulate " TANDEM_SOURCE_DIR "/workloads/experiments/contention.yaml --out out");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto all = summary("out");
  EXPECT_GT(all.at("slow_down").at("min").get<double>(), 1.05);
  EXPECT_LT(all.at("slow_down").at("max").get<double>(), 2.0);
}

#ifdef TANDEM_TESTS_RUN

TEST_F(SeveralJobs, DoTheSameInASimulationAndInOneRun) {
  const std::string words = line_.experiment(three + "evaluate_every: 3\n") + " --operations --decisions";
  const auto simulated = line_.tandem("simulate " + words + " --together-only --out simulated");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto measured = line_.tandem("run " + words + " --alone --out measured");
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  for (const std::string name : {"servers", "ring", "late"}) {
    SCOPED_TRACE(name);
    const auto one = results("simulated/jobs/" + name), other = results("measured/jobs/" + name);
    const auto comparison = validation::compare(one, {other});
    EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
    if (name == "late") continue;
    EXPECT_EQ(comparison.operations.state, validation::Gate::State::passed) << comparison.operations.detail;
    for (std::size_t i = 0; i < one.journal.evaluations.size(); ++i)
      EXPECT_EQ(one.journal.evaluations[i].accuracy, other.journal.evaluations.at(i).accuracy);
  }
  EXPECT_EQ(results("measured/jobs/late").journal.steps.size(),
            results("simulated/jobs/late").journal.steps.size());
  const auto all = summary("measured");
  EXPECT_TRUE(all.contains("jain_index")) << all.dump(1);
}

TEST_F(SeveralJobs, AJobThatFailsEndsAllAndIsNamed) {
  const auto failed = line_.tandem("run " + line_.experiment(three) +
                                   " --set jobs.ring.optimizer.learning_rate=1e30 --set "
                                   "jobs.servers.stop.rounds=100000 --out out");
  EXPECT_EQ(failed.exit_code, 70) << failed.output;
  EXPECT_NE(failed.output.find("job 'ring'"), std::string::npos) << failed.output;
  for (const char* name : {"out", "out/jobs/ring", "out/jobs/servers"})
    EXPECT_TRUE(is_incomplete_result_directory(path(name))) << name;
}

TEST_F(SeveralJobs, AKilledRankIsNamedWithItsJob) {
  const auto result = line_.tandem_ended_early(
      "run " + line_.experiment(three) + " --set workload.math=modelled --set stop.rounds=100000 --out out",
      {.processes = list_processes("tandem-rank"),
       .when = "[ $(processes | wc -l) -ge 10 ]",
       .kill = "sleep 3; kill -9 $(for p in $(processes); do tr '\\0' '\\n' < /proc/$p/environ | "
               "grep -q '^OMPI_COMM_WORLD_RANK=6$' && echo $p; done)"});
  EXPECT_EQ(result.exit_code, 70) << result.output;
  EXPECT_NE(result.output.find("rank 6 is rank 1 of job 'ring', the worker on 'node-2'"), std::string::npos)
      << result.output;
}

TEST_F(SeveralJobs, EndBySignalsAsOneJobDoes) {
  const auto result = line_.tandem_ended_early(
      "run " + line_.experiment(three) + " --set workload.math=modelled --set stop.rounds=100000 --out out",
      {.processes = list_processes("tandem|tandem-rank"), .when = "[ $(processes | wc -l) -ge 10 ]"});
  EXPECT_EQ(result.exit_code, 143) << result.output;
}

/// Each reads its own mounted storage, on the terms of a job by itself.
TEST_F(SeveralJobs, WithMountedStorageAskForWhatOneJobAsksFor) {
  const auto refused = line_.tandem("run " +
                                    line_.experiment(three + "data: {source: storage, store: mounted}\n"
                                                             "run: {devices: emulated}\n") +
                                    " --set placement.cache_nodes=[node-6] --set placement.stores=[server] "
                                    "--out out");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find("because data.store is mounted"), std::string::npos) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(SeveralJobs, RunOnlyOnThisMachineOrACluster) {
  for (const std::string& option : std::vector<std::string>{"--hosts localhost:12", "--print-command"}) {
    const auto refused = line_.tandem("run " + line_.experiment(three) + " " + option + " --out out");
    EXPECT_EQ(refused.exit_code, 2) << refused.output;
    EXPECT_NE(refused.output.find("several jobs"), std::string::npos) << refused.output;
  }
}

#endif

}  // namespace
}  // namespace tandem::testing

// Studies and runs under a real Slurm with three nodes on this machine. Skipped without the rights or the
// programs that this needs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Slurm : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto started = line_.shell("sh " + script() + " up \"$PWD/slurm\"");
    if (started.exit_code == 3) GTEST_SKIP() << "Slurm or munge is not installed";
    if (geteuid() != 0) GTEST_SKIP() << "Slurm's daemons need root";
    ASSERT_EQ(started.exit_code, 0) << started.output;
    line_.experiment("variants:\n  bsp: {}\n  asp: {sync.algorithm: asp}\n");
    line_.write("study.yaml",
                "experiments: experiment.yaml\n"
                "grid: {placement.worker_count: [2, 3, 4]}\n");
  }
  void TearDown() override { line_.shell("sh " + script() + " down \"$PWD/slurm\""); }

  static std::string script() { return "'" + testing::source_folder() + "/tests/support/slurm.sh'"; }
  CommandResult slurm(const std::string& command) const {
    return line_.shell("export TANDEM SLURM_CONF=$PWD/slurm/slurm.conf; " + command);
  }
  std::string text_of(const std::string& file) const {
    std::ifstream stream(line_.folder() / file);
    return rest_of(stream);
  }

  CommandLine line_;
};
using LongSlurm = Slurm;

TEST_F(LongSlurm, AnArrayWithATaskThatIsKilledIsTheStudyOfOneProcess) {
  const auto printed =
      line_.tandem("study study.yaml --print-sbatch --chunk 2 --mem 300M --cpus 1 --out parts");
  ASSERT_EQ(printed.exit_code, 0) << printed.output;
  line_.write("array.sbatch", printed.output);
  // Task 1 does not come to its end.
  const auto first = slurm(
      "sed 's/^set -eu/set -eu; [ $SLURM_ARRAY_TASK_ID != 1 ] || kill -9 $$/' array.sbatch > killed.sbatch; "
      "sbatch --wait --output=%a.log killed.sbatch");
  EXPECT_NE(first.exit_code, 0) << first.output;
  // A task beyond the shards.
  EXPECT_NE(slurm("sbatch --wait --output=beyond.log --array=7 array.sbatch").exit_code, 0);
  EXPECT_NE(text_of("beyond.log").find("from 0 to N - 1, found '7/3'; number the tasks of an array from 0"),
            std::string::npos)
      << text_of("beyond.log");
  const auto early = line_.tandem("study merge parts");
  EXPECT_EQ(early.exit_code, 1) << early.output;
  EXPECT_NE(early.output.find("not simulated yet"), std::string::npos);
  // Started again alone, it does what is missing.
  const auto second = slurm("sbatch --wait --output=again.log --array=1 array.sbatch");
  EXPECT_EQ(second.exit_code, 0) << second.output << text_of("again.log");
  const auto merged = line_.tandem("study merge parts");
  ASSERT_EQ(merged.exit_code, 0) << merged.output << text_of("0.log") << text_of("1.log") << text_of("2.log");
  ASSERT_EQ(line_.tandem("study study.yaml --out whole").exit_code, 0);
  for (const char* file : {"/report.json", "/report.md", "/report.html"}) {
    EXPECT_GT(text_of(std::string("whole") + file).size(), 500U);
    EXPECT_EQ(text_of(std::string("whole") + file), text_of(std::string("parts") + file)) << file;
  }
}

TEST_F(LongSlurm, ARunTakesItsAllocation) {
  const std::string job =
      line_.experiment() + " --set run.devices=native --set placement.workers=[node-1,node-2]";
  line_.write("run.sbatch",
              "#!/bin/bash\n#SBATCH --nodes=3\n#SBATCH --ntasks-per-node=2\n#SBATCH --mem=1500M\n"
              "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
              "\"$TANDEM\" run " +
                  job + " --map server=n1 --map auto --out measured\n");
  const auto run = slurm("timeout 100 sbatch --wait --output=run.log run.sbatch");
  ASSERT_EQ(run.exit_code, 0) << run.output << text_of("run.log");
  for (const char* node : {"n1 ", "n2 ", "n3 "})
    EXPECT_NE(text_of("run.log").find(node), std::string::npos) << text_of("run.log");
  const auto results = read_results((line_.folder() / "measured").string());
  EXPECT_EQ(results.journal.steps.size(), 12U) << "two workers, six rounds";
}

TEST_F(LongSlurm, WhatAnAllocationCannotHoldIsRefusedBeforeItStarts) {
  const std::string job =
      line_.experiment() + " --set run.devices=native --set placement.workers=[node-1,node-2]";
  const auto refuses = [&](const std::string& words, const std::vector<std::string>& parts) {
    const auto result = slurm("timeout 100 salloc --quiet --mem=900M " + words + " 2>&1; echo code $?");
    for (const auto& part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
    EXPECT_NE(result.output.find("code 2"), std::string::npos) << result.output;
    EXPECT_FALSE(std::filesystem::exists(line_.folder() / "refused")) << result.output;
  };
  const std::string run =
      " \"$TANDEM\" run " + job + " --slurm --out refused --map server=n1 --map node-1=n2 ";
  refuses("--nodes=2 --ntasks-per-node=1" + run, {"host 'node-2'", "none of the machines", "machines: n1"});
  refuses("--nodes=2 --ntasks-per-node=1" + run + "--map node-2=n2",
          {"machine 'n2': expected at most its 1 slots, found 2 ranks", "--map"});
  refuses("--nodes=2 --ntasks-per-node=1" + run + "--map node-2=n3", {"--map node-2=n3", "(n1, n2)"});
}

TEST_F(LongSlurm, ThePrintedScriptResumesWhenTheJobIsRequeued) {
  const auto printed = line_.tandem(
      "run " + line_.experiment("evaluate_every: 50\n") +
      " --set workload.math=real --set run.devices=native --set placement.workers=[node-1,node-2] --set "
      "stop.rounds=3000 --set "
      "optimizer.momentum=0.5 --out requeued --print-sbatch --map node-[1-2]=a --mem 1500M --time 00:05:00");
  ASSERT_EQ(printed.exit_code, 0) << printed.output;
  for (const char* line : {"#SBATCH --nodes=2\n", "#SBATCH --requeue\n", "#SBATCH --mem=1500M\n"})
    EXPECT_NE(printed.output.find(line), std::string::npos) << line << printed.output;
  line_.write("run.sbatch", printed.output);
  const auto result = slurm(
      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; id=$(sbatch --parsable "
      "--output=run.log "
      "run.sbatch); for i in $(seq 600); do ls requeued/checkpoints/*.pt > /dev/null 2>&1 && break; sleep "
      "0.1; done; "
      "scontrol requeue $id; for i in $(seq 1500); do [ -e requeued.1/summary.json ] && break; sleep 0.1; "
      "done; cat run.log");
  ASSERT_TRUE(std::filesystem::exists(line_.folder() / "requeued.1/summary.json")) << result.output;
  const auto resumed = read_results((line_.folder() / "requeued.1").string());
  EXPECT_GE(resumed.info.resumed.value().round, 50) << result.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "requeued/summary.json")) << "it was interrupted";
}

/// Slurm sends the signal to the script's own process, which the command has replaced.
TEST_F(LongSlurm, AJobThatCommitsIsWarnedBeforeItsTimeEnds) {
  const auto script = [this](const std::string& more) {
    return line_
        .tandem("run " + line_.experiment() +
                " --set placement.workers=[node-1,node-2] --out out --print-sbatch " + more)
        .output;
  };
  const std::string commits = "--set workload.math=real --set checkpoint.policy=fixed ";
  const std::string warned = script(commits + "--grace 45");
  EXPECT_NE(warned.find("#SBATCH --signal=B:TERM@45\n"), std::string::npos) << warned;
  EXPECT_NE(warned.find("--force --grace 45 "), std::string::npos) << warned;
  for (const std::string& other :
       {script(""), script(commits + "--grace 0"), script(commits + "--set sync.over=all-reduce")})
    EXPECT_EQ(other.find("--signal"), std::string::npos) << other;
}

TEST_F(LongSlurm, WorldsOfOneRankAreExplained) {
  const std::string job = line_.experiment() + " --set placement.workers=[node-1,node-2]";
  const auto printed = line_.tandem("run " + job + " --out alone --print-command");
  ASSERT_EQ(printed.exit_code, 0) << printed.output;
  const auto run = slurm(
      "timeout 60 srun --mpi=none -N1 -n2 --mem=900M \"$(dirname \"$TANDEM\")\"/tandem-rank alone.job.json "
      "--create --out "
      "alone 2>&1");
  EXPECT_NE(run.exit_code, 0);
  EXPECT_NE(run.output.find("srun --mpi=pmix, or mpirun"), std::string::npos) << run.output;
  const auto together = slurm(
      "OMPI_MCA_btl_tcp_if_include=lo timeout 100 srun --mpi=pmix -N3 -n3 --mem=900M \"$(dirname "
      "\"$TANDEM\")\"/tandem-rank alone.job.json --create --out alone 2>&1");
  EXPECT_EQ(together.exit_code, 0) << together.output;
  EXPECT_EQ(read_results((line_.folder() / "alone").string()).journal.steps.size(), 12U);
}

TEST_F(LongSlurm, ScancelEndsAllRanks) {
  const std::string job =
      line_.experiment() +
      " --set run.devices=native --set stop.rounds=10000000 --set placement.workers=[node-1,node-2]";
  line_.write("long.sbatch",
              "#!/bin/bash\n#SBATCH --nodes=3\n#SBATCH --ntasks-per-node=2\n#SBATCH --mem=1500M\n"
              "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
              "exec \"$TANDEM\" run " +
                  job + " --map server=n1 --map node-1=n2 --map node-2=n3 --out cancelled\n");
  // Not the shell of this test, whose words name the ranks, too.
  const std::string ranks = "pgrep -f '[b]in/tandem-rank [^ ]*/cancelled/' > /dev/null";
  const auto result =
      slurm("id=$(sbatch --parsable --output=long.log long.sbatch); for i in $(seq 300); do " +
            has_started("cancelled") + " && break; sleep 0.1; done; scancel $id; for i in $(seq 120); do " +
            ranks + " || break; sleep 0.1; done; " + ranks + " && echo STILL THERE; ls cancelled");
  EXPECT_EQ(result.output.find("STILL THERE"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("INCOMPLETE"), std::string::npos) << result.output << text_of("long.log");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

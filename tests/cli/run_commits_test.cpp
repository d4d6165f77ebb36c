// `tandem run` with commits: ranks of a real mpirun commit what the simulation commits.
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/resume_jobs.hpp"
#include "validation/compare/compare.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongCommitJobs = CommittingJobs;

class RunCommits : public CommittingJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(RunCommits, AreThoseOfTheSimulation) {
  succeeds("simulate " + committing(7, GetParam()) + " --decisions --operations --out simulated");
  succeeds("run " + committing(7, GetParam()) + " --decisions --operations --out measured");
  const Results simulated = results("simulated"), measured = results("measured");
  EXPECT_EQ(rounds_of_commits(simulated.journal), (std::vector<std::int64_t>{3, 6}));
  EXPECT_EQ(rounds_of_commits(simulated.journal), rounds_of_commits(measured.journal));
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(simulated.journal.commits[i].bytes, measured.journal.commits[i].bytes);
  const auto comparison = validation::compare(simulated, {measured});
  expect_passed(comparison.operations);
  expect_passed(comparison.decisions);
  expect_passed(comparison.replay);
  const bool real = GetParam().find("modelled") == std::string::npos;
  EXPECT_EQ(std::filesystem::exists(line_.folder() / "measured/checkpoints/round_00000006.pt"), real);
  if (!real) return;
  succeeds("simulate " + committing(8, GetParam()) + " --out whole");
  succeeds("run --resume measured --set stop.rounds=8 --out resumed");
  expect_same_end("whole", "resumed", 6);
}

INSTANTIATE_TEST_SUITE_P(Momentum, RunCommits, ::testing::Values("--set optimizer.momentum=0.9"));
INSTANTIATE_TEST_SUITE_P(
    LongOthers, RunCommits,
    ::testing::Values("--set optimizer.momentum=0.9 --set checkpoint.mode=background",
                      "--set workload.math=modelled --set placement.servers=[server,node-4]",
                      "--set optimizer.update_at=workers --set placement.servers=[server,node-4]",
                      "--set sync.algorithm=d-psgd --set sync.over=peers",
                      "--set sync.over=all-reduce --set optimizer.kind=adam"));

TEST_F(LongCommitJobs, MeasuredOnesThatFollowTimeReplay) {
  for (const std::string more : {"", " --set placement.servers=[server,node-4]"}) {
    const std::string words = experiment(12,
                                         "--set evaluate_every=0 --set checkpoint.policy=young "
                                         "--set checkpoint.options.mtbf_s=10" +
                                             more) +
                              " --decisions --operations --out ";
    const std::string folder = more.empty() ? "one" : "two";
    succeeds("simulate " + words + folder + "-simulated");
    succeeds("run " + words + folder + "-measured");
    EXPECT_FALSE(results(folder + "-measured").journal.commits.empty());
    const auto comparison =
        validation::compare(results(folder + "-simulated"), {results(folder + "-measured")});
    expect_passed(comparison.replay);
    EXPECT_EQ(comparison.decisions.state, validation::Gate::State::not_checked);
    EXPECT_NE(comparison.decisions.detail.find("young decides by durations"), std::string::npos)
        << comparison.decisions.detail;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

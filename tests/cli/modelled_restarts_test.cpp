// Jobs of modelled mathematics that start again when machines depart: they take the times of real
// mathematics.
#include <ostream>
#include <string>
#include <vector>

#include "tests/cli/fewer_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

struct ModelledJob {
  std::string settings;
  bool has_fewer_workers =
      false;  ///< continues without workers whose machines have departed, until others come
};

void PrintTo(const ModelledJob& job, std::ostream* stream) { *stream << job.settings; }

class ModelledRestarts : public FewerWorkers, public ::testing::WithParamInterface<ModelledJob> {};

TEST_P(ModelledRestarts, TakeTheTimesOfRealMathematics) {
  const auto& [settings, has_fewer_workers] = GetParam();
  std::string words =
      experiment(20, commits +
                         "--set evaluate_every=0 --set physics.ensemble=0 --set recovery.restarts=500 "
                         "--set recovery.mode=restart --set recovery.policy=restart " +
                         settings);
  if (has_fewer_workers) {
    const double whole_s = makespan(simulate(words, "whole"));
    words += " --set recovery.least=1 " + departs({{0, 0.3 * whole_s}, {2, 0.6 * whole_s}}) +
             fmt::format("--set transience.start={}", 0.2 * whole_s);
  } else {
    words +=
        " --set transience.lifetime=exponential --set transience.options.mean=0.6 --set "
        "transience.start=0.01";
  }
  const Results real = simulate(words, "real"),
                modelled = simulate(words + " --set workload.math=modelled", "modelled");
  if (has_fewer_workers) {
    EXPECT_EQ(slots_of_generations(real).size(), 5U);
    EXPECT_EQ(slots_of_generations(real), slots_of_generations(modelled));
  } else {
    EXPECT_GE(real.info.generations.size(), 2U);
  }
  EXPECT_EQ(rounds_of_generations(real), rounds_of_generations(modelled));
  EXPECT_DOUBLE_EQ(makespan(real), makespan(modelled));
  EXPECT_EQ(rounds_of_commits(real.journal), rounds_of_commits(modelled.journal));
  EXPECT_EQ(real.summary.samples, modelled.summary.samples);
  expect_each_step_once(real);
}

const std::string in_memory = "--set checkpoint.to=buddy --set checkpoint.keep=2 ";
INSTANTIATE_TEST_SUITE_P(LongAll, ModelledRestarts,
                         ::testing::Values(ModelledJob{"--set sync.algorithm=esync"}, ModelledJob{in_memory},
                                           ModelledJob{"--set sync.algorithm=d-psgd --set sync.over=peers"},
                                           ModelledJob{"--set sync.compression=top-k"}, ModelledJob{"", true},
                                           ModelledJob{"--set sync.algorithm=asp --set data.split=dirichlet",
                                                       true},
                                           ModelledJob{in_memory + "--set sync.over=all-reduce", true}));

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

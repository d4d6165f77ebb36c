// A TorchScript file as the model of a job under the simulated clock, with real and with modelled
// mathematics.
#include "tests/sim/training.hpp"
#include "tests/workloads/learner/script_modules.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class ScriptTraining : public Training {
 protected:
  Experiment experiment() {
    const std::string path = (directory_ / "net.pt").string();
    save_lenet(path);
    Experiment experiment = small_experiment(2);
    experiment.workload.model = path;
    return experiment;
  }
};

TEST_F(ScriptTraining, WorkersEndWithTheModelOfOneWorker) {
  train(experiment());
  EXPECT_EQ(job_->model().name, "net.pt");
  EXPECT_GT(job_->model().buckets.size(), 2U);
  expect_close(final_model(), sequential_model(5), 1e-5F);
}

TEST_F(ScriptTraining, AllReduceGivesTheSameModel) {
  Experiment wanted = experiment();
  wanted.sync.over = sync::Route::all_reduce;
  wanted.placement.servers.clear();
  train(wanted);
  expect_close(final_model(), sequential_model(5), 1e-5F);
}

TEST_F(ScriptTraining, ModelledMathTakesSizesAndFlopsFromTheFile) {
  Experiment wanted = experiment();
  wanted.workload.math = Experiment::Workload::Math::modelled;
  const auto steps = train(wanted).steps;
  ASSERT_EQ(steps.size(), 10U);
  EXPECT_EQ(job_->model().parameters(), 431'080);
  for (const auto& step : steps) {
    EXPECT_GE(step.bytes_sent, 4 * 431'080);
    EXPECT_GT(step.duration(), Seconds(0));
    EXPECT_TRUE(std::isnan(step.loss));
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

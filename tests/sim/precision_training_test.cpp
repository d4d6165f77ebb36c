// Jobs under the simulated clock whose real mathematics uses another precision.
#include "tests/sim/training.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class PrecisionTraining : public Training {};

using LongPrecisionTraining = PrecisionTraining;

TEST_F(LongPrecisionTraining, Bf16LearnsNearlyTheSameInTheSameTime) {
  Experiment exact = small_experiment(2);
  exact.workload.model = "lenet";
  Experiment rough = exact;
  rough.workload.precision = Precision::bf16;
  const Seconds makespan = train_apart(exact, "exact");
  EXPECT_EQ(train_apart(rough, "rough"), makespan) << "times of emulated devices follow from the platform";
  train_apart(rough, "again");
  train(exact);
  const auto expected = model_in("exact"), found = model_in("rough");
  EXPECT_EQ(final_model(), expected);
  EXPECT_EQ(model_in("again"), found);
  EXPECT_GT(distance(found, expected), 0.0F);
  const float moved = distance(expected, initial_model(job_->replica_plan()));
  EXPECT_LT(distance(found, expected), 0.5F * moved);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

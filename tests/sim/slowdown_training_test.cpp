// Random stragglers under the simulated clock: step times follow the drawn slow-downs, and a barrier waits
// for the slowest worker of each round.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/sim/training.hpp"
#include "workloads/timing/compute_time_sampler.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::Training;

class RandomSlowdowns : public Training {
 protected:
  /// Records of steps by rank and step.
  using Steps = std::map<std::pair<Rank, int>, const StepRecord*>;

  Journal train_slowly(double probability) {
    constexpr int workers = 4;
    Experiment experiment = small_experiment(workers);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.stop.rounds = 12;
    experiment.run.slowdown_probability = probability;
    experiment.run.slowdown_factor = 50;
    std::map<Rank, ComputeTimeSampler> devices;
    price_ = [&](Rank rank, const Work& work) {
      return devices.try_emplace(rank, *job_, rank, job_->spec().experiment.seed).first->second.next(work);
    };
    Journal journal = train(experiment);
    price_ = nullptr;
    return journal;
  }

  static Steps steps_of(const Journal& journal) {
    Steps steps;
    for (const auto& step : journal.steps) steps[{step.rank, step.step}] = &step;
    return steps;
  }
  static double forward_s(const StepRecord& step) {
    return step.phases[static_cast<std::size_t>(Phase::forward)].count();
  }
};

TEST_F(RandomSlowdowns, StepsAreSlowedAsDrawn) {
  const Journal journal = train_slowly(0.3);
  ASSERT_EQ(journal.steps.size(), 48U);
  std::map<Rank, Slowdown> drawn;
  int slow_steps = 0;
  for (const auto& [place, step] : steps_of(journal)) {
    const Work work{.kind = Work::Kind::forward, .samples = step->samples, .step = step->step};
    const double factor =
        drawn.try_emplace(place.first, job_->spec().experiment, place.first).first->second.next(work);
    slow_steps += factor > 1 ? 1 : 0;
    const double expected = job_->devices().cost_model(place.first).price(work).count() * factor;
    EXPECT_NEAR(forward_s(*step), expected, 1e-6 * expected);
  }
  EXPECT_GT(slow_steps, 4);
  EXPECT_LT(slow_steps, 40);
}

/// A round cannot end before the gradient of its slowest worker.
TEST_F(RandomSlowdowns, ARoundOfBspWaitsForItsSlowestStep) {
  const Journal journal = train_slowly(0.3);
  const auto steps = steps_of(journal);
  for (int round = 0; round < 12; ++round) {
    double last_gradient = 0.0;
    for (Rank rank = 0; rank < 4; ++rank) {
      const StepRecord& step = *steps.at({rank, round});
      const double computed =
          forward_s(step) + step.phases[static_cast<std::size_t>(Phase::backward)].count();
      last_gradient = std::max(last_gradient, step.start.count() + computed);
    }
    for (Rank rank = 0; rank < 4; ++rank) {
      const StepRecord& step = *steps.at({rank, round});
      EXPECT_GE((step.start + step.duration()).count(), last_gradient)
          << "round " << round << " rank " << rank;
    }
  }
}

TEST_F(RandomSlowdowns, WithProbabilityZeroNoWorkerIsSlow) {
  const Journal journal = train_slowly(0.0);
  ASSERT_EQ(journal.steps.size(), 12U * 4U);
  for (const auto& step : journal.steps) {
    const Work work{.kind = Work::Kind::forward, .samples = step.samples};
    const double price = job_->devices().cost_model(step.rank).price(work).count();
    EXPECT_NEAR(forward_s(step), price, 1e-6 * price);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem

// Random slowdowns: when they are drawn, how often, and how long they last.
#include "workloads/cost/slowdown.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {

Experiment slow(double probability, double factor, std::uint64_t seed = 1) {
  Experiment experiment;
  experiment.run.slowdown_probability = probability;
  experiment.run.slowdown_factor = factor;
  experiment.seed = seed;
  return experiment;
}

Work work(Work::Kind kind) { return {.kind = kind}; }
Work forward(int step) { return {.kind = Work::Kind::forward, .step = step}; }

/// The factors of a worker that begins at step `first`.
std::vector<double> draws(const Experiment& experiment, Rank rank, int steps, int first = 0) {
  Slowdown slowdown(experiment, rank);
  std::vector<double> factors;
  for (int step = first; step < steps; ++step) factors.push_back(slowdown.next(forward(step)));
  return factors;
}

TEST(Slowdown, LastsForTheWholeStep) {
  Slowdown slowdown(slow(0.5, 3), 0);
  int slow_steps = 0;
  for (int step = 0; step < 100; ++step) {
    const double factor = slowdown.next({.kind = Work::Kind::decode, .step = step});
    EXPECT_TRUE(factor == 1.0 || factor == 3.0) << factor;
    slow_steps += factor == 3.0 ? 1 : 0;
    EXPECT_EQ(slowdown.next(forward(step)), factor);
    for (const auto kind : {Work::Kind::backward, Work::Kind::update, Work::Kind::reduce})
      EXPECT_EQ(slowdown.next(work(kind)), factor);
  }
  EXPECT_GT(slow_steps, 20);
  EXPECT_LT(slow_steps, 80);
}

/// A forward pass in pieces makes a single draw, like one in one piece.
TEST(Slowdown, IsTheSameIfForwardIsInPieces) {
  const Experiment experiment = slow(0.5, 3);
  Slowdown whole(experiment, 1), pieces(experiment, 1);
  for (int step = 0; step < 100; ++step) {
    const double of_step = whole.next(forward(step));
    for (const int bucket : {2, 1, 0})
      EXPECT_EQ(pieces.next({.kind = Work::Kind::forward, .bucket = bucket, .step = step}), of_step) << step;
    EXPECT_EQ(pieces.next({.kind = Work::Kind::backward, .bucket = 0}), of_step);
  }
}

TEST(Slowdown, RolesWithoutStepsAreNeverSlow) {
  Slowdown slowdown(slow(1, 3), 0);
  for (const auto kind : {Work::Kind::update, Work::Kind::reduce, Work::Kind::evaluate})
    EXPECT_EQ(slowdown.next(work(kind)), 1.0);
}

TEST(Slowdown, ProbabilityOneIsAlwaysAndZeroIsNever) {
  EXPECT_EQ(draws(slow(0, 3), 2, 50), std::vector<double>(50, 1.0));
  EXPECT_EQ(draws(slow(1, 3), 2, 50), std::vector<double>(50, 3.0));
}

/// Within five standard errors.
TEST(Slowdown, HasTheRequestedFrequency) {
  constexpr int steps = 20'000;
  constexpr double probability = 0.1;
  int slow_steps = 0;
  for (const double factor : draws(slow(probability, 2), 3, steps)) slow_steps += factor == 2.0 ? 1 : 0;
  const double error = std::sqrt(probability * (1 - probability) / steps);
  EXPECT_NEAR(static_cast<double>(slow_steps) / steps, probability, 5 * error);
}

TEST(Slowdown, ContinuesInAResumedJob) {
  const auto whole = draws(slow(0.5, 3), 1, 100);
  EXPECT_EQ(draws(slow(0.5, 3), 1, 100, 40), std::vector(whole.begin() + 40, whole.end()));
}

TEST(Slowdown, DependsOnlyOnSeedAndRank) {
  EXPECT_EQ(draws(slow(0.3, 2), 1, 200), draws(slow(0.3, 2), 1, 200));
  EXPECT_NE(draws(slow(0.3, 2), 1, 200), draws(slow(0.3, 2), 2, 200));
  EXPECT_NE(draws(slow(0.3, 2, 1), 1, 200), draws(slow(0.3, 2, 2), 1, 200));
}

}  // namespace TANDEM_FILE
}  // namespace tandem

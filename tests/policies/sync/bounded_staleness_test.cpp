// SSP, DSSP and DynSGD: the bound on a worker's lead, the weight of a push, and the algorithms that they
// equal at extreme options.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/sync_runs.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

using testing::decisions_of;
using testing::expect_same_log;
using testing::PolicyRun;
using testing::random_durations;
using testing::releases;

constexpr std::int64_t huge = std::int64_t{1} << 60;

/// The largest lead of a worker over the slowest active one: when a step ends, and when one starts.
struct Leads {
  int at_push = 0;
  int at_start = 0;
};

Leads largest_leads(const PolicyRun& run) {
  std::vector<int> clocks(static_cast<std::size_t>(run.setting().workers));
  Leads leads;
  for (const auto& line : run.log()) {
    const auto event = parse_server_event(line.event);
    if (const auto* push = std::get_if<Push>(&event)) ++clocks[static_cast<std::size_t>(push->worker)];
    const auto [slowest, fastest] = std::minmax_element(clocks.begin(), clocks.end());
    leads.at_push = std::max(leads.at_push, *fastest - *slowest);
    for (const auto& decision : decisions_of(line))
      if (decision[0] == "reply")
        leads.at_start = std::max(leads.at_start, clocks.at(std::stoul(decision[1])) - *slowest);
  }
  return leads;
}

TEST(Ssp, NoWorkerExceedsTheBound) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "ssp test");
    auto durations = random_durations(random);
    durations[0] = 0.01;  // fast enough to reach the bound
    const auto staleness = static_cast<std::int64_t>(random.below(6));
    PolicyRun run("ssp", durations, {{"staleness", staleness}}, Rng::stream(seed, "steps"));
    run.run_updates(300);
    const Leads leads = largest_leads(run);
    EXPECT_EQ(leads.at_start, staleness);
    EXPECT_EQ(leads.at_push, staleness + 1);
  }
}

TEST(Ssp, AFastWorkerFirstBlocksAfterOneMoreStepThanTheBound) {
  PolicyRun run("ssp", {1.0, 100.0}, {{"staleness", std::int64_t{3}}});
  run.run_updates(4);
  EXPECT_DOUBLE_EQ(run.now(), 4.0);
  EXPECT_TRUE(run.is_waiting(0));
  run.run_updates(5);
  EXPECT_DOUBLE_EQ(run.now(), 100.0);
  EXPECT_FALSE(run.is_waiting(0));
}

/// After its initial lead, every worker runs at the pace of the slowest, whatever the bound.
TEST(Ssp, InTheLongRunAllWorkersRunAtThePaceOfTheSlowest) {
  for (const std::int64_t staleness : {0, 1, 7}) {
    PolicyRun run("ssp", {1.0, 4.0, 2.0}, {{"staleness", staleness}});
    run.run_updates(3 * 100 + 2 * static_cast<int>(staleness));
    EXPECT_DOUBLE_EQ(run.now(), 400.0);
  }
}

/// Equal workers push in their order. As the last one of three has done step c, all have, and its copy lasts
/// for s + 1 steps: it gets a model after every (s + 1)th step. At the pushes of the others the slowest is
/// one step behind, so that each copy but the first lasts for s steps.
TEST(SspCached, EqualWorkersGetAModelWhenTheirCopyIsTooOld) {
  constexpr int steps = 60;
  for (const std::int64_t staleness : {1, 2, 3, 7}) {
    PolicyRun run("ssp-cached", {1.0, 1.0, 1.0}, {{"staleness", staleness}});
    run.run_updates(3 * steps);
    EXPECT_DOUBLE_EQ(run.now(), steps) << "nobody waits";
    std::map<std::string, std::int64_t> models;
    for (const auto& line : run.log())
      for (const auto& decision : decisions_of(line))
        if (decision[0] == "reply" && decision.back() != "cached") ++models[decision[1]];
    const std::int64_t period = staleness + 1;
    EXPECT_EQ(models["0"], 1 + (steps - period) / staleness) << staleness;
    EXPECT_EQ(models["1"], 1 + (steps - period) / staleness) << staleness;
    EXPECT_EQ(models["2"], steps / period) << staleness;
  }
}

/// Whatever the speeds, a worker starts a step on a copy with all updates that the bound asks for, and waits
/// when and as long as in ssp.
TEST(SspCached, CopiesAreWithinTheBound) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "cached");
    const auto durations = random_durations(random);
    const auto staleness = static_cast<std::int64_t>(random.below(6));
    PolicyRun run("ssp-cached", durations, {{"staleness", staleness}}, Rng::stream(seed, "steps"));
    PolicyRun ssp("ssp", durations, {{"staleness", staleness}}, Rng::stream(seed, "steps"));
    run.run_updates(300);
    ssp.run_updates(300);
    EXPECT_EQ(releases(run), releases(ssp));
    std::vector<std::int64_t> clocks(durations.size()), copies(durations.size());
    for (const auto& line : run.log()) {
      ++clocks.at(static_cast<std::size_t>(std::get<Push>(parse_server_event(line.event)).worker));
      for (const auto& decision : decisions_of(line)) {
        if (decision[0] != "reply") continue;
        const auto worker = std::stoul(decision[1]);
        if (decision.back() != "cached") copies.at(worker) = *std::ranges::min_element(clocks);
        EXPECT_LE(clocks.at(worker) - copies.at(worker), staleness);
      }
    }
  }
}

TEST(Ssp, BoundZeroWaitsLikeBsp) {
  for (const auto seed : testing::seeds(30)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "ssp test");
    const auto durations = random_durations(random);
    PolicyRun ssp("ssp", durations, {{"staleness", std::int64_t{0}}}, Rng::stream(seed, "steps"));
    PolicyRun bsp("bsp", durations, {}, Rng::stream(seed, "steps"));
    bsp.run_updates(40);
    ssp.run_updates(40 * static_cast<int>(durations.size()));
    EXPECT_EQ(releases(ssp), releases(bsp));
  }
}

TEST(Ssp, WithoutBoundIsAsp) { expect_same_log({"ssp", {{"staleness", huge}}}, {"asp", {}}); }

TEST(Ssp, AveragingWeighsEachPushByOneOverTheWorkers) {
  PolicyRun run("ssp", {1.0, 2.0, 3.0, 4.0}, {{"staleness", std::int64_t{2}}, {"average", true}});
  run.run_updates(50);
  ASSERT_GE(run.log().size(), 50U);
  for (const auto& line : run.log()) EXPECT_EQ(decisions_of(line).at(1).at(1), "0.25");
}

TEST(Dssp, EqualBoundsAreSsp) {
  for (const std::int64_t bound : {0, 1, 4})
    expect_same_log({"dssp", {{"lower", bound}, {"upper", bound}}}, {"ssp", {{"staleness", bound}}});
}

TEST(Dssp, NoWorkerExceedsTheUpperBound) {
  int reached = 0;
  for (const auto seed : testing::seeds(100)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "dssp test");
    auto durations = random_durations(random);
    durations[0] = 0.05;
    const auto lower = static_cast<std::int64_t>(random.below(4));
    const auto upper = lower + static_cast<std::int64_t>(random.below(6));
    PolicyRun run("dssp", durations, {{"lower", lower}, {"upper", upper}}, Rng::stream(seed, "steps"));
    run.run_updates(400);
    const Leads leads = largest_leads(run);
    EXPECT_LE(leads.at_start, upper);
    EXPECT_LE(leads.at_push, upper + 1);
    EXPECT_GE(leads.at_start, lower);
    if (upper > lower && leads.at_start == upper) ++reached;
  }
  EXPECT_TRUE(reached > 0 || std::getenv("TANDEM_TEST_SEED") != nullptr) << "no run reached the bound";
}

/// The paper's claim: the fastest worker waits less than under the lower bound alone.
TEST(Dssp, WaitsLessThanSspWithTheLowerBound) {
  const std::vector<double> durations = {1.0, 3.3, 2.1};
  PolicyRun dssp("dssp", durations, {{"lower", std::int64_t{1}}, {"upper", std::int64_t{8}}});
  PolicyRun ssp("ssp", durations, {{"staleness", std::int64_t{1}}});
  const auto first_updates_in = [](PolicyRun& run, double seconds) {
    run.run_updates(1000);
    return std::count_if(run.update_times().begin(), run.update_times().end(),
                         [&](double time) { return time < seconds; });
  };
  EXPECT_GT(first_updates_in(dssp, 30.0), first_updates_in(ssp, 30.0));
}

TEST(DynSgd, WeighsStalerPushesLess) {
  PolicyRun run("dynsgd", {1.0, 2.5, 0.7}, {}, Rng(5));
  run.run_updates(500);
  int version = 0;
  for (const auto& line : run.log()) {
    const auto push = std::get<Push>(parse_server_event(line.event));
    EXPECT_DOUBLE_EQ(std::stod(decisions_of(line).at(1).at(1)), 1.0 / (version - push.version + 1));
    ++version;
  }
}

TEST(DynSgd, BlocksTheSameWorkersAsSsp) {
  for (const std::int64_t staleness : {std::int64_t{0}, std::int64_t{3}, huge}) {
    const std::vector<double> durations = {1.0, 2.5, 0.7, 0.2};
    PolicyRun dynsgd("dynsgd", durations, {{"staleness", staleness}}, Rng(5));
    PolicyRun ssp("ssp", durations, {{"staleness", staleness}}, Rng(5));
    dynsgd.run_updates(300);
    ssp.run_updates(300);
    EXPECT_EQ(releases(dynsgd), releases(ssp));
  }
}

/// What asp's updates make of x = 1 on the loss curvature x x / 2, where every worker needs as long as the
/// others, so that all gradients are (workers - 1) updates old: the largest |x| of the last updates.
double last_of_quadratic(int workers, double rate_and_curvature) {
  constexpr int updates = 1500, last = 50;
  PolicyRun run("asp", std::vector<double>(static_cast<std::size_t>(workers), 1.0));
  run.run_updates(updates);
  double x = 1.0, largest = 0.0, gradient = 0.0;
  std::vector<double> handed_out(static_cast<std::size_t>(workers), x);
  int applied = 0;
  for (const auto& line : run.log()) {
    const auto event = parse_server_event(line.event);
    const auto* push = std::get_if<Push>(&event);
    if (push == nullptr) continue;
    for (const auto& decision : decisions_of(line)) {
      if (decision[0] == "accept") gradient = handed_out[static_cast<std::size_t>(push->worker)];
      if (decision[0] == "apply") {
        x -= rate_and_curvature * gradient;
        if (++applied > updates - last) largest = std::max(largest, std::abs(x));
      }
      if (decision[0] == "reply") handed_out.at(std::stoul(decision[1])) = x;
    }
  }
  EXPECT_EQ(applied, updates);
  return largest;
}

/// x(t + 1) = x(t) - r x(t - tau) is stable if and only if r < 2 sin(pi / (2 (2 tau + 1))).
TEST(Asp, OnAQuadraticIsStableUpToTheClosedFormOfItsDelay) {
  for (const int delay : {0, 1, 3, 7}) {
    const double limit = 2 * std::sin(std::acos(-1.0) / (2 * (2 * delay + 1)));
    EXPECT_LT(last_of_quadratic(delay + 1, 0.95 * limit), 1e-2) << delay;
    EXPECT_GT(last_of_quadratic(delay + 1, 1.05 * limit), 1e2) << delay;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync

// ADSP: all workers commit equally often, no worker waits, and the search for the number of commits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/policy_run.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/sync_runs.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

using testing::PolicyRun;

std::vector<std::size_t> commits_of(const PolicyRun& run) {
  std::vector<std::size_t> counts;
  for (int worker = 0; worker < run.setting().workers; ++worker) counts.push_back(run.steps(worker).size());
  return counts;
}

/// Number of commits of each worker up to the end of each of the first periods.
std::vector<std::vector<std::size_t>> commits_by_period(PolicyRun& run, double period_s, int periods) {
  std::vector<std::vector<std::size_t>> counts;
  for (int update = 1; std::ssize(counts) < periods; ++update) {
    const auto before = commits_of(run);
    run.run_updates(update);
    while (run.now() >= period_s * static_cast<double>(counts.size() + 1)) counts.push_back(before);
  }
  return counts;
}

TEST(Adsp, AllCommitEquallyOften) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "adsp test");
    const auto durations = testing::random_durations(random);
    const auto commits = static_cast<std::int64_t>(1 + random.below(5));
    const double period_s = 4.0 * static_cast<double>(commits) * *std::ranges::max_element(durations);
    PolicyRun run("adsp", durations,
                  {{"period_s", period_s}, {"commits", commits}, {"search_every", std::int64_t{0}}});
    for (const auto& counts : commits_by_period(run, period_s, 10)) {
      const auto [least, most] = std::ranges::minmax_element(counts);
      EXPECT_LE(*most - *least, 1U);
    }
  }
}

TEST(Adsp, NoWorkerWaits) {
  Rng random(3);
  PolicyRun run("adsp", testing::random_durations(random), {{"period_s", 20.0}}, Rng(4));
  for (int update = 1; update < 100; ++update) {
    run.run_updates(update);
    for (int worker = 0; worker < run.setting().workers; ++worker) EXPECT_FALSE(run.is_waiting(worker));
  }
}

/// Commits per period of one worker with short steps; `losses`: the loss in each period.
std::vector<std::size_t> commits_with(const std::vector<double>& losses) {
  constexpr double period_s = 100.0;
  PolicyRun run("adsp", {0.0301},  // a period is not a whole number of steps

                {{"period_s", period_s}, {"commits", std::int64_t{5}}, {"search_every", std::int64_t{4}}});
  std::vector<std::size_t> counts;
  std::size_t before = 0;
  int update = 0;
  for (const double loss : losses) {
    run.set_loss(loss);
    while (run.now() < period_s * static_cast<double>(counts.size() + 1)) run.run_updates(++update);
    const std::size_t now = commits_of(run).front();
    counts.push_back(now - before);
    before = now;
  }
  return counts;
}

TEST(Adsp, RaisesCommitsWhileTheLossFallsFasterThenStepsBackOnce) {
  // The first period also counts the first commit. The losses of a period take effect in the next one.
  EXPECT_EQ(commits_with({10, 9, 7, 4, 3, 2, 1}), (std::vector<std::size_t>{6, 5, 6, 7, 8, 7, 8}));
}

/// 4, 1.5 and 0.9 are ever smaller falls, and ever larger ones at equal loss. The next one is smaller even
/// so: 1 / 1.5 - 1 / 1.6.
TEST(Adsp, ComparesFallsAtEqualLoss) {
  EXPECT_EQ(commits_with({8, 4, 2.5, 1.6, 1.5, 1.4}), (std::vector<std::size_t>{6, 5, 6, 7, 8, 7}));
}

TEST(Adsp, KeepsItsCommitsWithoutALoss) {
  EXPECT_EQ(commits_with({std::nan(""), std::nan(""), std::nan(""), std::nan("")}),
            (std::vector<std::size_t>{6, 5, 5, 5}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync

// Several jobs in one simulation, against closed forms: what they share, and what they do not.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "platforms/load.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "sim/job_world.hpp"
#include "tests/sim/temporary_platform.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/records/csv_columns.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

using tandem::testing::TemporaryFolder;
using tandem::testing::TemporaryPlatform;

constexpr double cable = 1e8;  // bytes per second

/// left-1, left-2, left-3 | right-1, right-2, right-3, and the link between the two switches.
std::string dumbbell(double middle) {
  std::string body = "<zone id='lab' routing='Floyd'>\n";
  const std::vector<std::string> sides = {"left", "right"};
  const auto each = [&](const auto& use) {
    for (const auto& side : sides)
      for (int i = 1; i <= 3; ++i) use(side, fmt::format("{}-{}", side, i));
  };
  each([&](const auto&, const auto& host) { body += fmt::format("<host id='{}' speed='1Gf'/>\n", host); });
  for (const auto& side : sides) body += fmt::format("<router id='{}'/>\n", side);
  const char* const link = "<link id='{}' bandwidth='{}Bps' latency='1ns' sharing_policy='SPLITDUPLEX'/>\n";
  each([&](const auto&, const auto& host) {
    body += fmt::format(fmt::runtime(link), "cable-" + host, cable);
  });
  body += fmt::format(fmt::runtime(link), "middle", middle);
  const char* const route = "<route src='{}' dst='{}'><link_ctn id='{}' direction='UP'/></route>\n";
  each([&](const auto& side, const auto& host) {
    body += fmt::format(fmt::runtime(route), host, side, "cable-" + host);
  });
  return body + fmt::format(fmt::runtime(route), "left", "right", "middle") + "</zone>\n";
}

struct Given {
  std::vector<std::string> workers;
  Seconds start{0};
  std::vector<std::string> servers = {};  ///< empty: an all-reduce
};

/// Its buckets of 1 MB take 10 ms over a cable; computing takes no time unless it has a speed.
Experiment experiment_of(const Given& given) {
  Experiment experiment;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_parameters = 1'000'000;
  experiment.workload.synthetic_buckets = 4;
  experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 1000;
  experiment.workload.batch = 1;
  experiment.sync.over = given.servers.empty() ? sync::Route::all_reduce : sync::Route::server;
  experiment.sync.order = WorkerOrder::rank;
  experiment.placement.workers = given.workers;
  experiment.placement.servers = given.servers;
  experiment.stop.rounds = 50;
  return experiment;
}

struct Outcome {
  Seconds makespan;
  std::string steps;
  std::string operations;
};

/// The cells of two CSV files are the same, but for how SimGrid rounds: each event of another job ends a step
/// of its arithmetic.
void expect_same_records(const std::string& one, const std::string& other) {
  constexpr double rounding_s = 1e-12;
  std::istringstream ones(one), others(other);
  std::string line, other_line;
  while (std::getline(ones, line)) {
    ASSERT_TRUE(std::getline(others, other_line)) << line;
    std::istringstream cells(line), other_cells(other_line);
    std::string cell, other_cell;
    while (std::getline(cells, cell, ',')) {
      ASSERT_TRUE(std::getline(other_cells, other_cell, ',')) << line << '\n' << other_line;
      if (cell == other_cell) continue;
      ASSERT_NEAR(std::strtod(cell.c_str(), nullptr), std::strtod(other_cell.c_str(), nullptr), rounding_s)
          << line << '\n'
          << other_line;
      ASSERT_FALSE(cell.empty() || std::isalpha(static_cast<unsigned char>(cell.front()))) << line;
    }
  }
  EXPECT_FALSE(std::getline(others, other_line)) << other_line;
}

class Jobs : public ::testing::Test {
 protected:
  explicit Jobs(double middle = cable) : platform_(dumbbell(middle)) {}

  /// In a process of its own, because SimGrid has one engine per process.
  std::vector<Outcome> simulate(const std::vector<Given>& given, bool computes = false) {
    const pid_t child = fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
      simulate_here(given, computes);
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    std::vector<Outcome> outcomes;
    for (std::size_t job = 0; job < given.size(); ++job) {
      double makespan = 0.0;
      std::ifstream(file("makespan", job)) >> makespan;
      outcomes.push_back({Seconds(makespan), text(file("steps", job)), text(file("operations", job))});
    }
    return outcomes;
  }
  Outcome alone(const Given& given, bool computes = false) { return simulate({given}, computes).front(); }

 private:
  void simulate_here(const std::vector<Given>& given, bool computes) {
    std::vector<Job> jobs;
    for (const Given& one : given) {
      Experiment experiment = experiment_of(one);
      experiment.platform = platform_.path();
      jobs.emplace_back(experiment, platforms::load_platform(platform_.path()), folder_.path().string());
    }
    std::vector<SharingJob> sharing;
    for (std::size_t job = 0; job < given.size(); ++job)
      sharing.push_back({.job = &jobs[job],
                         .name = given.size() == 1 ? "" : std::to_string(job),
                         .start = given[job].start});
    const auto change = [&](SimulationSetting& setting) {
      if (!computes) setting.price = [](Rank, const Work&) { return Seconds(0); };
      setting.eager_limit = SimulationSetting().eager_limit;
    };
    const auto runs = simulate_jobs(sharing, {.operations = true, .change = change});
    for (std::size_t job = 0; job < runs.size(); ++job) {
      std::ofstream(file("makespan", job)) << std::setprecision(17) << runs[job].makespan.count();
      std::ofstream(file("steps", job)) << to_csv(runs[job].journal.steps);
      std::ofstream(file("operations", job)) << to_csv(runs[job].journal.operations);
    }
  }
  std::string file(const char* what, std::size_t job) const {
    return folder_.path().string() + '/' + what + std::to_string(job);
  }
  static std::string text(const std::string& path) {
    std::ifstream file(path);
    return rest_of(file);
  }

  TemporaryPlatform platform_;
  TemporaryFolder folder_;
};

TEST_F(Jobs, WithNothingInCommonHaveTheRecordsOfEachAlone) {
  const Given first{{"left-1", "left-2"}};
  const Given second{{"right-1", "right-2"}, Seconds(0), {"right-3"}};
  const auto together = simulate({first, second}, /*computes=*/true);
  const Outcome first_alone = alone(first, true), second_alone = alone(second, true);
  expect_same_records(together[0].steps, first_alone.steps);
  expect_same_records(together[0].operations, first_alone.operations);
  expect_same_records(together[1].steps, second_alone.steps);
  expect_same_records(together[1].operations, second_alone.operations);
  EXPECT_NEAR(together[0].makespan.count(), first_alone.makespan.count(), 1e-9);
  EXPECT_NEAR(together[1].makespan.count(), second_alone.makespan.count(), 1e-9);
  EXPECT_GT(std::ranges::count(first_alone.steps, '\n'), 50);
  EXPECT_NE(together[0].makespan, together[1].makespan);
}

/// Bandwidth of the middle as a multiple of that of a cable.
class SharedLink : public Jobs, public ::testing::WithParamInterface<double> {
 protected:
  SharedLink() : Jobs(GetParam() * cable) {}
};

TEST_P(SharedLink, SlowsTwoJobsDownAsMaxMinSharingSays) {
  const Given first{{"left-1", "right-1"}}, second{{"left-2", "right-2"}};
  const Seconds own = alone(first).makespan;
  // 50 rounds of 4 buckets of 1 MB; a ring of two sends each byte once each way.
  EXPECT_NEAR(own.count(), 50 * 4e6 / (std::min(1.0, GetParam()) * cable), 1e-3);
  const double expected = std::max(1.0, 2.0 / std::max(1.0, GetParam()));
  for (const Outcome& job : simulate({first, second})) EXPECT_NEAR(job.makespan / own, expected, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Middle, SharedLink, ::testing::Values(0.5, 1.5));
INSTANTIATE_TEST_SUITE_P(LongMiddle, SharedLink, ::testing::Values(1.0, 2.0, 4.0));

TEST_F(Jobs, ThatFollowEachOtherTakeAsLongAsAlone) {
  const Given first{{"left-1", "right-1"}};
  const Outcome own = alone(first);
  Given later{{"left-2", "right-2"}, own.makespan + Seconds(1)};
  const auto together = simulate({first, later});
  expect_same_records(together[0].steps, own.steps);
  EXPECT_NEAR(together[1].makespan.count(), own.makespan.count(), 1e-6);
}

TEST_F(Jobs, ThatOverlapHalfOfTheirTimeShareTheLinkThatLong) {
  const Given first{{"left-1", "right-1"}};
  const Seconds own = alone(first).makespan;
  const auto together = simulate({first, {{"left-2", "right-2"}, own * 0.5}});
  // The second half of the first job takes twice as long, and so does the first half of the second one.
  for (const Outcome& job : together) EXPECT_NEAR(job.makespan / own, 1.5, 0.01);
}

TEST_F(Jobs, OnOneHostShareItsDeviceAsTheRanksOfOneJobDo) {
  const Given first{{"left-1"}}, second{{"left-1"}}, elsewhere{{"left-2"}};
  const Seconds own = alone(first, true).makespan;
  EXPECT_GT(own.count(), 0.0);
  for (const Outcome& job : simulate({first, second}, true)) EXPECT_NEAR(job.makespan / own, 2.0, 1e-6);
  for (const Outcome& job : simulate({first, elsewhere}, true)) EXPECT_NEAR(job.makespan / own, 1.0, 1e-6);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim

// The losses of samples that a job records, and jobs with modelled mathematics that read them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "tests/cli/command.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Losses : public ::testing::Test {
 protected:
  Results play(const std::string& words, const std::string& out) const {
    const auto result = line_.tandem(words + " --out " + out + " -q");
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
    return read_results((line_.folder() / out).string());
  }
  /// Four workers, 20 of 80 samples each, in steps of 8, 8 and 4.
  std::string job(const std::string& sampling) const {
    return line_.experiment("data: " + sampling + "\n") +
           " --set stop.rounds=0 --set stop.epochs=3 --set workload.train_samples=80";
  }
  static std::vector<int> samples_of_steps(const Results& results) {
    std::vector<int> samples;
    for (const auto& step : results.journal.steps) samples.push_back(step.samples);
    return samples;
  }
  CommandLine line_{"real"};
  std::string importance_ = "{sampling: importance, sampling_options: {warm_up: 1, history: 8, block: 8}}";
};
using LongLosses = Losses;

TEST_F(LongLosses, AreThoseOfTheSamplesThatBothWorldsTrainOn) {
  const Results simulated = play("simulate " + job(importance_) + " --losses", "simulated");
  const Results measured = play("run " + job(importance_) + " --losses", "measured");
  const auto& expected = simulated.journal.losses;
  const auto& found = measured.journal.losses;
  ASSERT_EQ(expected.size(), found.size());
  ASSERT_GT(expected.size(), 80U + 80U);
  ASSERT_LT(expected.size(), 80U * 3U) << "the second and the third epoch select samples";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::tuple(expected[i].rank, expected[i].epoch, expected[i].id),
              std::tuple(found[i].rank, found[i].epoch, found[i].id))
        << "row " << i;
    EXPECT_NEAR(expected[i].loss, found[i].loss, 1e-4 * (1 + expected[i].loss)) << "row " << i;
  }
  std::map<std::pair<Rank, std::int64_t>, double> sums;
  std::map<Rank, double> by_steps;
  for (const auto& row : expected) sums[{row.rank, 0}] += row.loss;
  for (const auto& step : simulated.journal.steps) by_steps[step.rank] += step.loss * step.samples;
  for (const auto& [rank, sum] : by_steps) EXPECT_NEAR((sums[{rank, 0}]), sum, 1e-3 * sum) << "rank " << rank;
}

TEST_F(Losses, MakeModelledMathematicsListTheSamplesOfTheRealOne) {
  const std::string lag = " --set data.sampling_options.lag=1 --set stop.epochs=4";
  for (const std::string& more : {std::string(), lag}) {
    const Results real =
        play("simulate " + job(importance_) + more + " --losses", "real" + std::to_string(more.size()));
    const Results modelled =
        play("simulate " + job(importance_) + more + " --set workload.math=modelled --set " +
                 "data.losses=real" + std::to_string(more.size()) + "/losses.csv",
             "modelled" + std::to_string(more.size()));
    EXPECT_EQ(samples_of_steps(real), samples_of_steps(modelled)) << more;
    const Results others = play("simulate " + job(importance_) + more + " --set workload.math=modelled",
                                "others" + std::to_string(more.size()));
    EXPECT_NE(samples_of_steps(real), samples_of_steps(others)) << "losses of a model select other samples";
  }
}

TEST_F(Losses, OfShardsFromStorageAreOfEachSampleOnceAnEpoch) {
  const Results results = play("simulate " + job("{source: storage, prefetch: 3}") +
                                   " --set workload.train_samples=96 --set stop.epochs=2 --set "
                                   "placement.cache_nodes=[server] --losses",
                               "stored");
  std::map<std::int64_t, std::multiset<std::int64_t>> ids;
  for (const auto& row : results.journal.losses) ids[row.epoch].insert(row.id);
  ASSERT_EQ(ids.size(), 2U);
  for (const auto& [epoch, all] : ids) {
    EXPECT_EQ(all.size(), 96U) << "epoch " << epoch;
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 96U) << "epoch " << epoch;
  }
}

TEST_F(Losses, OfARunDriveTrainingCaches) {
  const Results real = play("simulate " + job(importance_) + " --losses", "real");
  const auto replay = [&](const std::string& more) {
    const auto result = line_.tandem(
        "cache 80 importance minio 0.5 --epochs 3 --batch 32 -e importance.warm_up=1 -e importance.history=8 "
        "-e "
        "importance.block=8 --json " +
        more + " 2> /dev/null");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return nlohmann::json::parse(result.output);
  };
  const auto recorded = replay("--losses real/losses.csv");
  EXPECT_EQ(recorded.at("losses"), "real/losses.csv");
  // Of this list, the job's four workers leave out what they cannot divide.
  std::map<std::int64_t, std::int64_t> samples;
  for (const auto& row : real.journal.losses) ++samples[row.epoch];
  for (const auto& epoch : recorded.at("results")[0].at("epochs"))
    EXPECT_EQ(epoch.at("requests").get<std::int64_t>() / 4,
              samples[epoch.at("epoch").get<std::int64_t>()] / 4)
        << epoch;
  EXPECT_EQ(replay("").at("losses"), "modelled");
}

TEST_F(Losses, BadInputIsRefused) {
  const auto refuses = [&](const std::string& words, const std::vector<std::string>& parts) {
    const auto result = line_.tandem(words);
    EXPECT_EQ(result.exit_code, 2) << words << '\n' << result.output;
    for (const auto& part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
  };
  const std::string modelled = "simulate " + job(importance_) + " --set workload.math=modelled";
  refuses(modelled + " --losses", {"--losses: expected real mathematics"});
  refuses("simulate " + job(importance_) + " --set data.losses=losses.csv", {"data.losses", "workload.math"});
  refuses(modelled + " --set data.sampling=shuffled --set data.losses=losses.csv",
          {"data.losses", "sampler shuffled does not depend on losses"});
  refuses(modelled + " --set data.losses=nowhere.csv", {"nowhere.csv", "no such file"});
  const auto with = [&](const std::string& rows) {
    line_.write("losses.csv", rows);
    return modelled + " --set data.losses=losses.csv";
  };
  refuses(with(""), {"losses.csv"});
  refuses(with("epoch,id\n"), {"losses.csv:1", "rank,epoch,id,loss"});
  refuses(with("rank,epoch,id,loss\n"), {"losses of samples, found none"});
  refuses(with("rank,epoch,id,loss\n1,0,79,2.5\n1,0,80,2.5\n"), {"losses.csv:3", "0 to 79", "80"});
  refuses(with("rank,epoch,id,loss\n1,-1,7,2.5\n"), {"losses.csv:2", "'epoch'", "-1"});
  refuses(with("rank,epoch,id,loss\n1,0,7,-2.5\n"), {"losses.csv:2", "'loss'", "-2.5"});
  refuses("cache trace.csv csv lru 10 --losses losses.csv", {"--epochs"});
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing

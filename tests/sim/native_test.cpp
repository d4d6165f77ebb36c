// The native all-reduce in jobs: its measured times, its cost in a simulation, and training with it.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "platforms/neighbours.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/sim/training.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/cost/all_reduce_fit.hpp"
#include "workloads/cost/network_table.hpp"
#include "workloads/records/messages.hpp"
#include "workloads/timing/library_all_reduce.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::TemporaryFolder;
using testing::TemporaryPlatform;
using testing::Training;

Profile measured_profile() {
  Profile profile;
  profile.paths = {{.from = "host-1", .to = "host-2", .messages = {}, .segments = {{0, 1e-4, 1e-8}}}};
  profile.all_reduces = {{2, 4, 1e-3, 0.0, {1e-3}, 1e-4, {}},
                         {2, 1000, 2e-3, 0.0, {1e-3, 2e-3, 6e-3}, 4e-4, {}},
                         {2, 2000, 4e-3, 0.0, {4e-3}, 6e-4, {}},
                         {6, 4, 5e-3, 0.0, {5e-3}, 2e-3, {}},
                         {6, 2000, 8e-3, 0.0, {8e-3}, 4e-3, {}}};
  return profile;
}

double seconds_of(const Profile& profile, int ranks, std::int64_t bytes) {
  const auto found = NetworkTable(profile).all_reduce(ranks, Bytes(bytes));
  return found ? found->count() : -1.0;
}

TEST(MeasuredAllReduce, IsLinearBetweenSizes) {
  const Profile profile = measured_profile();
  EXPECT_DOUBLE_EQ(seconds_of(profile, 2, 1000), 2e-3);
  EXPECT_DOUBLE_EQ(seconds_of(profile, 2, 1500), 3e-3);
  EXPECT_DOUBLE_EQ(seconds_of(profile, 2, 502), 1.5e-3);
  EXPECT_DOUBLE_EQ(seconds_of(profile, 2, 1), 1e-3) << "constant below the measured range";
  EXPECT_DOUBLE_EQ(seconds_of(profile, 2, 5000), 10e-3) << "extrapolated from the two largest sizes";
}

TEST(MeasuredAllReduce, IsLinearBetweenNumbersOfRanksAndUnknownBeyond) {
  const Profile profile = measured_profile();
  EXPECT_DOUBLE_EQ(seconds_of(profile, 6, 2000), 8e-3);
  EXPECT_DOUBLE_EQ(seconds_of(profile, 4, 2000), 6e-3);
  EXPECT_DOUBLE_EQ(seconds_of(profile, 3, 4), 2e-3);
  EXPECT_EQ(seconds_of(profile, 7, 4), -1.0);
  EXPECT_EQ(seconds_of(profile, 1, 4), -1.0);
  EXPECT_EQ(seconds_of({}, 2, 4), -1.0);
}

TEST(MeasuredAllReduce, CostsLessBehindAnother) {
  const Profile profile = measured_profile();
  EXPECT_DOUBLE_EQ(NetworkTable(profile).all_reduce_behind(2, Bytes(1500))->count(), 5e-4);
  EXPECT_DOUBLE_EQ(NetworkTable(profile).all_reduce_behind(4, Bytes(2000))->count(), 2.3e-3);
  EXPECT_FALSE(NetworkTable(profile).all_reduce_behind(7, Bytes(4)).has_value());
}

TEST(MeasuredAllReduce, RoundTrips) {
  const Profile back = profile_from_json(nlohmann::json::parse(to_json(measured_profile()).dump()));
  ASSERT_EQ(back.all_reduces.size(), 5U);
  EXPECT_EQ(seconds_of(back, 4, 2000), seconds_of(measured_profile(), 4, 2000));
  EXPECT_EQ(back.all_reduces[3].behind_s, 2e-3);
  EXPECT_EQ(back.all_reduces[1].raw_s, (std::vector<double>{1e-3, 2e-3, 6e-3}));
}

class PriceOfNative : public ::testing::Test {
 protected:
  static constexpr double bandwidth = 1e8;

  /// Eight modelled workers over native all-reduces. `network`: physics.network.
  Job job(NetworkSource network, NoiseSource noise = NoiseSource::none) {
    Experiment experiment = small_experiment(8);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.platform = file_.path();
    experiment.sync.over = sync::Route::all_reduce;
    experiment.sync.collective = "native";
    experiment.physics.network = network;
    experiment.physics.noise = noise;
    experiment.physics.all_reduce = algorithm_;
    experiment.physics.profile = folder_.path().string() + "/profile.json";
    save_profile(experiment.physics.profile, profile_);
    return Job(experiment, platforms::load_platform(file_.path()), "");
  }
  platforms::Network network() const {
    std::vector<std::string> hosts;
    for (int host = 1; host <= 8; ++host) hosts.push_back("host-" + std::to_string(host));
    return platforms::load_network(file_.path(), hosts);
  }

  LibraryAlgorithm algorithm_ = LibraryAlgorithm::automatic;
  Profile profile_ = measured_profile();
  const platforms::Network unknown_ = {};
  TemporaryFolder folder_;
  TemporaryPlatform file_{TemporaryPlatform::star(10, bandwidth, 1e-4)};
};

TEST_F(PriceOfNative, IsTheMeasuredOne) {
  const Job measured = job(NetworkSource::profile);
  LibraryAllReduceCost price(measured, unknown_, 1);
  EXPECT_FALSE(price.used());
  const std::vector<Rank> members = {0, 1, 3, 5, 6, 7};
  EXPECT_DOUBLE_EQ(price.next(members, Bytes(2000)).alone.count(), 8e-3);
  EXPECT_TRUE(price.used());
  EXPECT_EQ(price.origin(), "as calibrated");
}

/// Seconds of a ring with a fixed start.
double ring_s(int ranks, std::int64_t bytes) {
  const double hops = 2.0 * (ranks - 1);
  return 1e-3 + hops * (2e-5 + static_cast<double>(bytes) / ranks * 1e-8);
}

TEST_F(PriceOfNative, OfOtherNumbersOfRanksIsThatOfAFormula) {
  profile_.all_reduces.clear();
  for (const int ranks : {2, 4})
    for (const std::int64_t bytes : {4, 4 << 10, 64 << 10, 256 << 10, 1 << 20})
      profile_.all_reduces.push_back(
          {ranks, bytes, ring_s(ranks, bytes), 0.0, {ring_s(ranks, bytes)}, 0.5 * ring_s(ranks, bytes), {}});
  const Job measured = job(NetworkSource::profile);
  LibraryAllReduceCost price(measured, unknown_, 1);
  const auto seconds = [&](int ranks, std::int64_t bytes) {
    const std::vector<Rank> all = {0, 1, 2, 3, 4, 5, 6, 7};
    return price.next(std::span(all).first(static_cast<std::size_t>(ranks)), Bytes(bytes));
  };
  EXPECT_NEAR(seconds(3, 300'000).alone.count(), ring_s(3, 300'000), 1e-3 * ring_s(3, 300'000));
  EXPECT_NEAR(seconds(8, 480'000).alone.count(), ring_s(8, 480'000), 1e-3 * ring_s(8, 480'000));
  EXPECT_NEAR(seconds(8, 480'000).behind.count(), 0.5 * ring_s(8, 480'000), 1e-3 * ring_s(8, 480'000));
  EXPECT_EQ(price.origin(), "by a formula fitted to other numbers of ranks");
  EXPECT_DOUBLE_EQ(seconds(4, 1 << 20).alone.count(), ring_s(4, 1 << 20));
  EXPECT_EQ(price.origin(), "1 as calibrated, 3 by a formula fitted to other numbers of ranks");
  EXPECT_FALSE(check_fit(profile_, 2, 4)) << "nothing else was measured";
  profile_.all_reduces.push_back({6, 1 << 20, 1.1 * ring_s(6, 1 << 20), 0.0, {}, 0.0, {}});
  const auto check = check_fit(profile_, 2, 4);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->times, 1);
  EXPECT_NEAR(check->mean_error, 1 - 1 / 1.1, 1e-3);
  EXPECT_EQ(check->largest_error, check->mean_error);
}

TEST_F(PriceOfNative, IsInterpolatedWhereNoFormulaFits) {
  // Fewer ranks take longer: no schedule does so.
  profile_.all_reduces = {{2, 4096, 9e-3, 0.0, {}, 0.0, {}},
                          {2, 8192, 9e-3, 0.0, {}, 0.0, {}},
                          {6, 4096, 1e-3, 0.0, {}, 0.0, {}},
                          {6, 8192, 1e-3, 0.0, {}, 0.0, {}}};
  const Job measured = job(NetworkSource::profile);
  LibraryAllReduceCost price(measured, unknown_, 1);
  const std::vector<Rank> members = {0, 1, 2, 3};
  EXPECT_DOUBLE_EQ(price.next(members, Bytes(4096)).alone.count(), 5e-3);
  EXPECT_EQ(price.origin(), "as calibrated");
}

TEST_F(PriceOfNative, HasTheMeasuredDistributionAndDependsOnlyOnTheSeed) {
  const Job noisy = job(NetworkSource::profile, NoiseSource::profile);
  LibraryAllReduceCost price(noisy, unknown_, 1);
  LibraryAllReduceCost same(noisy, unknown_, 1);
  const std::vector<Rank> members = {0, 1};
  std::set<double> drawn;
  for (int i = 0; i < 100; ++i) {
    const double seconds = price.next(members, Bytes(1000)).alone.count();
    EXPECT_EQ(seconds, same.next(members, Bytes(1000)).alone.count());
    drawn.insert(std::round(seconds * 1e6));
  }
  EXPECT_EQ(drawn, (std::set<double>{1000, 2000, 6000}));
}

/// On a star all ranks send at full speed: halving-doubling among eight takes 2 lg p latencies and 2 (p - 1)
/// / p n bytes, and no schedule is cheaper for a large vector; devices add their reductions.
TEST_F(PriceOfNative, WithoutCalibrationIsThatOfTheCheapestSchedule) {
  const platforms::Network between = network();
  const std::vector<Rank> members = {0, 1, 2, 3, 4, 5, 6, 7};
  constexpr std::int64_t elements = 1 << 20;
  for (const NetworkSource physics : {NetworkSource::platform, NetworkSource::profile}) {
    const Job unmeasured = job(physics);
    LibraryAllReduceCost price(unmeasured, between, 1);
    const double found = price.next(members, Bytes(4 * elements)).alone.count();
    double cheapest = 1e9;
    for (const auto& name : collectives::catalog().names()) {
      if (name == "pipelined-ring") continue;  // only on request
      AllReduceSetting setting = all_reduce_setting(unmeasured, members, {elements});
      setting.collective = name;
      cheapest = std::min(cheapest, plan_and_price(setting, between).time.count());
    }
    EXPECT_NEAR(found, cheapest, 2e-3 * cheapest) << to_text(physics);
    EXPECT_GE(found, 2 * 7.0 / 8 * 4 * elements / bandwidth) << to_text(physics);
    EXPECT_EQ(
        price.origin(),
        std::string("as the cheapest schedule, halving-doubling (sums by rings would take 1.01 times as "
                    "long), because the ") +
            (physics == NetworkSource::platform
                 ? "profile's times of all-reduces count with physics.network=profile only"
                 : "calibration profile has none among so many ranks"));
    EXPECT_EQ(price.next(members, Bytes(4 * elements)).alone.count(), found);
  }
}

TEST_F(PriceOfNative, IsThatOfTheAlgorithmOfNcclThatIsAskedFor) {
  profile_.all_reduces.clear();
  const platforms::Network between = network();
  const std::vector<Rank> members = {0, 1, 2, 3, 4, 5, 6, 7};
  constexpr std::int64_t bytes = 4 << 20;
  const auto seconds = [&](LibraryAlgorithm algorithm, const std::string& name) {
    algorithm_ = algorithm;
    const Job asked = job(NetworkSource::platform);
    LibraryAllReduceCost price(asked, between, 1);
    const double found = price.next(members, Bytes(bytes)).alone.count();
    EXPECT_TRUE(price.origin().starts_with("as NCCL's " + name + ", because")) << price.origin();
    return found;
  };
  const double ring = seconds(LibraryAlgorithm::ring, "ring"), tree = seconds(LibraryAlgorithm::tree, "tree");
  EXPECT_GE(ring, 2 * 7.0 / 8 * bytes / bandwidth);
  EXPECT_GE(tree, 2.0 * bytes / bandwidth / 0.92);
}

/// The error when a job is constructed from an experiment that has not been validated.
std::string refusal_of(const std::string& collective, const std::string& compression) {
  const TemporaryPlatform file(TemporaryPlatform::star(3, 1e8, 1e-4));
  Experiment experiment = small_experiment(2);
  experiment.platform = file.path();
  experiment.sync.over = sync::Route::all_reduce;
  experiment.sync.collective = collective;
  experiment.sync.compression = compression;
  try {
    const Job job(experiment, platforms::load_platform(file.path()), "");
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(CompressedAllReduce, OfMessagesThatCanBeAddedIsOfAnyCollective) {
  for (const char* collective : {"native", "tree", "ring"}) EXPECT_EQ(refusal_of(collective, "fp16"), "");
}

TEST(CompressedAllReduce, ARingAndTheLibraryGatherMessagesThatCannotBeAdded) {
  for (const char* collective : {"native", "ring"}) EXPECT_EQ(refusal_of(collective, "sign"), "");
}

/// The setting of Training prices a sum of floats: an all-gather moves as much as one of half its size.
TEST_F(Training, NativeGathersTakeTheTimeOfASumOfHalfTheirSize) {
  Experiment experiment = small_experiment(4);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.sync.over = sync::Route::all_reduce;
  experiment.sync.collective = "native";
  experiment.sync.compression = "sign";
  const auto sums = all_reduces_of(train(experiment, true));
  ASSERT_FALSE(sums.empty());
  for (const auto& sum : sums) {
    EXPECT_EQ(sum.own->bytes % 4, 0) << "one part for each worker";
    EXPECT_GE((sum.own->end - sum.met).count(), 4e-5 + 0.5e-8 * static_cast<double>(sum.own->bytes) - 1e-9);
  }
}

TEST_F(Training, NativeHasOneRecordPerBucketAndCountsTheBytesOfTheModel) {
  Experiment experiment = small_experiment(4);
  experiment.sync.over = sync::Route::all_reduce;
  experiment.sync.collective = "native";
  const Journal journal = train(experiment, true);
  const std::size_t buckets = job_->model().buckets.size();
  ASSERT_GT(buckets, 1U);
  const auto sums = all_reduces_of(journal);
  EXPECT_EQ(sums.size(), 4 * buckets * static_cast<std::size_t>(experiment.stop.rounds));
  for (const auto& sum : sums) {
    EXPECT_EQ(sum.own->work, "0-3");
    // After the last member has started, it takes at least its cost, and no message of a member ends it
    // sooner.
    EXPECT_GE((sum.own->end - sum.met).count(), 4e-5 + 1e-8 * static_cast<double>(sum.own->bytes) - 1e-9);
  }
  for (const auto& step : journal.steps) {
    EXPECT_EQ(step.bytes_sent, job_->model().bytes().count());
    EXPECT_EQ(step.bytes_received, step.bytes_sent);
  }
}

TEST_F(Training, NativeSumsWithinGroups) {
  Experiment experiment = small_experiment(4);
  experiment.sync.algorithm = "group-average";
  experiment.sync.over = sync::Route::all_reduce;
  experiment.sync.collective = "native";
  experiment.sync.options = {{"group_size", std::int64_t{2}}};
  const Journal journal = train(experiment, true);
  std::set<std::string> groups;
  for (const auto& operation : journal.operations)
    if (operation.kind == "all-reduce") groups.insert(operation.work);
  EXPECT_GT(groups.size(), 2U);
  EXPECT_TRUE(groups.contains("0-3")) << "the mean of all models at the end";
}

}  // namespace TANDEM_FILE
}  // namespace tandem

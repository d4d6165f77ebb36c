// Calibration of a simulated cluster, where the truth is known: what is measured there must be what the
// platform file and the cost model say.
#include "workloads/calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "platforms/load.hpp"
#include "policies/vocabulary/rng.hpp"
#include "sim/simulation.hpp"
#include "tests/sim/temporary_platform.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/job.hpp"

namespace tandem {
namespace {

constexpr double latency_s = 1e-4;
constexpr double bandwidth = 1e8;

Profile calibrate_simulated(const CalibrationSetting& calibration, std::unique_ptr<Job>& job,
                            const testing::TemporaryFolder& folder, double share_spread = 0,
                            const std::vector<Profile::Path>& network = {}) {
  const testing::TemporaryPlatform file(testing::TemporaryPlatform::star(3, bandwidth, latency_s));
  Experiment experiment;
  experiment.platform = file.path();
  experiment.workload.math = Experiment::Workload::Math::real;
  experiment.workload.model = "mlp";
  experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 600;
  experiment.workload.test_samples = 10;
  experiment.workload.batch = 20;
  experiment.stop.rounds = 1;
  experiment.placement.workers = {"host-0", "host-1"};
  experiment.placement.servers = {"host-2"};
  job = std::make_unique<Job>(experiment, platforms::load_platform(file.path()), folder.path().string());
  sim::SimulationSetting setting;
  setting.platform_file = file.path();
  for (const Seat& seat : job->seats()) setting.hosts.push_back(seat.host);
  setting.price = [&](Rank rank, const Work& work) { return job->cost_model(rank).price(work); };
  Profile profile;
  setting.body = [&](Context& context) {
    Profile own = calibrate(*job, context, calibration);
    if (context.rank() == 0) profile = std::move(own);
  };
  setting.network = network;
  if (share_spread > 0) setting.noise = {.seed = 1, .share_spread = share_spread};
  sim::simulate(setting);
  return profile;
}

TEST(Calibration, FindsTheNetworkAndTheDevicesOfASimulatedCluster) {
  CalibrationSetting calibration = default_calibration();
  calibration.partners = {{.rank = 1}, {.rank = 2, .links = 2, .bandwidth = bandwidth}};
  calibration.message_repetitions = 2;
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const Profile profile = calibrate_simulated(calibration, job, folder);

  ASSERT_EQ(profile.paths.size(), 2U);
  EXPECT_EQ(profile.paths[1].from, "host-0");
  EXPECT_EQ(profile.paths[1].to, "host-2");
  EXPECT_EQ(profile.paths[1].links, 2);
  for (const auto& path : profile.paths) {
    ASSERT_EQ(path.segments.size(), 1U);
    EXPECT_NEAR(path.segments[0].alpha_s, latency_s, 1e-9);
    EXPECT_NEAR(path.segments[0].beta_s, 1 / bandwidth, 1e-14);
  }
  ASSERT_FALSE(profile.compute.empty());
  const CostModel device = job->cost_model(0);
  for (const auto& entry : profile.compute) {
    const Work work{
        .kind = entry.kind, .bucket = entry.bucket, .samples = entry.samples, .bytes = Bytes(entry.bytes)};
    EXPECT_NEAR(entry.median_s, device.price(work).count(), 1e-9) << name_of(entry.kind);
    EXPECT_NEAR(profile.price("mlp", work)->count(), entry.median_s, 1e-12) << name_of(entry.kind);
  }
  for (const auto& entry : profile.storage)
    EXPECT_NEAR(entry.median_s, static_cast<double>(entry.bytes) / (entry.write ? 50e6 : 100e6), 1e-9);
}

TEST(Calibration, FindsHowLongSendsKeepTheirRank) {
  const Profile::Path truth{.from = "host-0",
                            .to = "host-1",
                            .links = 2,
                            .bandwidth = bandwidth,
                            .messages = {{1'000, 0, 0, {}, 50e-6, {}}, {1'000'000, 0, 0, {}, 1e-3, {}}},
                            .segments = {{0, latency_s, 1 / bandwidth}}};
  CalibrationSetting calibration = default_calibration();
  calibration.message_bytes = {1'000, 1'000'000};
  calibration.partners = {{.rank = 1, .links = 2, .bandwidth = bandwidth}};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const auto messages = calibrate_simulated(calibration, job, folder, 0, {truth}).paths.front().messages;
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_NEAR(messages[0].send_s, 50e-6, 1e-9);
  EXPECT_NEAR(messages[1].send_s, 1e-3, 1e-9);
}

TEST(Calibration, FindsHowUnequallyMessagesShareALink) {
  CalibrationSetting calibration = default_calibration();
  calibration.message_bytes = {1, 1000};
  calibration.sharers = {1, 2};
  calibration.sharing_repetitions = 1000;
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  EXPECT_NEAR(calibrate_simulated(calibration, job, folder, 0.2).share_spread, 0.2, 0.02);
}

TEST(Calibration, FindsThatMessagesShareALinkEqually) {
  CalibrationSetting calibration = default_calibration();
  calibration.message_bytes = {1, 1000};
  calibration.sharers = {1, 2};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  // The second one is told to go a latency later.
  EXPECT_NEAR(calibrate_simulated(calibration, job, folder).share_spread, 0.0, 0.01);
}

TEST(Noise, VariesAsMeasuredAndFromItsSeedAlone) {
  Profile profile;
  profile.compute = {{"mlp", Work::Kind::forward, -1, 10, 0, 2.0, 0.0, {1.0, 2.0, 6.0}}};
  ModelDescription model;
  model.name = "mlp";
  const CostModel device(model, {}, &profile);
  const Work work{.kind = Work::Kind::forward, .samples = 20};
  Rng random(1);
  Rng same(1);
  std::map<double, int> counts;
  constexpr int draws = 3000;
  for (int i = 0; i < draws; ++i) {
    const double drawn = device.draw(work, random).count();
    EXPECT_EQ(drawn, device.draw(work, same).count());
    ++counts[drawn];
  }
  EXPECT_EQ(device.price(work), Seconds(4.0));
  ASSERT_EQ(counts.size(), 3U);
  for (const double seconds : {2.0, 4.0, 12.0}) EXPECT_NEAR(counts[seconds], draws / 3, 150) << seconds;
}

/// Message times of a network with two regimes, each with 2 % noise.
TEST(NetworkFit, FindsTwoRegimes) {
  for (const auto seed : testing::seeds(50)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const double alpha[] = {1e-6 * (1 + 20 * random.uniform()), 1e-4 * (1 + random.uniform())};
    const double beta[] = {1e-9 * (1 + random.uniform()), 1e-10 * (1 + random.uniform())};
    std::vector<Profile::MessageEntry> messages;
    for (std::int64_t size = 1; size <= (1 << 24); size *= 2) {
      const int regime = size < 65536 ? 0 : 1;
      const double exact = alpha[regime] + beta[regime] * static_cast<double>(size);
      messages.push_back({size, exact * (0.98 + 0.04 * random.uniform()), 0.0, {}});
    }
    const auto segments = fit_network(messages);
    ASSERT_FALSE(segments.empty());
    EXPECT_EQ(segments.front().from_bytes, 0);
    for (const auto& message : messages) {
      auto last = segments.begin();
      for (auto it = segments.begin(); it != segments.end() && it->from_bytes <= message.bytes; ++it)
        last = it;
      const double fitted = last->alpha_s + last->beta_s * static_cast<double>(message.bytes);
      EXPECT_NEAR(fitted / message.median_s, 1.0, 0.06) << message.bytes << " bytes";
    }
  }
}

}  // namespace
}  // namespace tandem

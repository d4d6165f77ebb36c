// Calibration of a simulated cluster, where the truth is known: the measurements must match the platform file
// and the cost model.
#include "workloads/calibration/calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "platforms/load.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "sim/simulation.hpp"
#include "tests/sim/simulated_calibration.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/cost/network_table.hpp"
#include "workloads/cost/price_table.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/timing/compute_time_sampler.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::all_reduce_s;
using testing::bandwidth;
using testing::calibrate_simulated;
using testing::latency_s;
using testing::star_experiment;

/// Without all-reduces of megabytes, whose sums take most of the time of a simulated calibration.
CalibrationSetting with_small_sums() {
  CalibrationSetting calibration = default_calibration();
  calibration.all_reduce_bytes = {4, 4 << 10};
  return calibration;
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
    EXPECT_NEAR(static_cast<double>(path.held_bytes), 0.0, 100.0);
  }
  ASSERT_FALSE(profile.compute.empty());
  const CostModel device = job->devices().cost_model(0);
  for (const auto& entry : profile.compute) {
    const Work work{
        .kind = entry.kind, .bucket = entry.bucket, .samples = entry.samples, .bytes = Bytes(entry.bytes)};
    EXPECT_NEAR(entry.median_s, device.price(work).count(), 1e-9) << name_of(entry.kind);
    EXPECT_NEAR(PriceTable(profile).price("mlp", work)->count(), entry.median_s, 1e-12)
        << name_of(entry.kind);
  }
  for (const auto& entry : profile.storage)
    EXPECT_NEAR(entry.median_s, static_cast<double>(entry.bytes) / (entry.write ? 50e6 : 100e6), 1e-9);
  // Both workers are members; 16 MiB are not measured, because they would take longer than a tenth of a
  // second.
  EXPECT_EQ(profile.all_reduces.size(), 6U);
  for (const auto& entry : profile.all_reduces) {
    EXPECT_EQ(entry.ranks, 2);
    EXPECT_NEAR(entry.median_s, all_reduce_s(2, entry.bytes), 1e-9) << entry.bytes;
    EXPECT_NEAR(entry.behind_s, 0.25 * all_reduce_s(2, entry.bytes), 1e-9) << entry.bytes;
    EXPECT_NEAR(entry.spread, 0.0, 1e-6);
  }
}

/// Latency, places and rates of a simulated disk, from reads of its files.
TEST(Calibration, FindsHowADiskServes) {
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000};
  calibration.disk_repetitions = 1;
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const Profile profile = calibrate_simulated(calibration, job, folder, [](sim::SimulationSetting& setting) {
    setting.disk_service = [](Rank, int) { return DiskService{Seconds(0.004), 6}; };
  });
  ASSERT_FALSE(profile.disks.empty());
  for (const auto& disk : profile.disks) {
    EXPECT_NEAR(disk.latency_s, 0.004, 1e-5);
    EXPECT_EQ(disk.parallel, 6);
    EXPECT_NEAR(disk.read_rate, 100e6, 2e6);
    EXPECT_NEAR(disk.write_rate, 50e6, 1e5);
    EXPECT_EQ(disk.reads.size(), 7U);
  }
  EXPECT_FALSE(profile.disks.front().cold);
  EXPECT_EQ(profile.disk(false), &profile.disks.front());
  EXPECT_EQ(profile.disk(true), &profile.disks.back()) << "warm where cold reads were not possible";
}

TEST(LongCalibration, MeasuresTheAllReducesOfAJobInTheirExactSizes) {
  CalibrationSetting calibration = default_calibration();
  calibration.message_bytes = {1, 1000};
  calibration.partners = {{.rank = 1, .links = 2, .bandwidth = bandwidth}};
  // The first one takes longer than a tenth of a second; one size is measured anyway.
  calibration.all_reduce_series = {{2, {40'000'000, 120'000, 64 << 10, 120'000}}, {5, {4000}}};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const Profile profile = calibrate_simulated(calibration, job, folder);
  std::vector<std::int64_t> sizes;
  for (const auto& entry : profile.all_reduces) {
    sizes.push_back(entry.bytes);
    EXPECT_EQ(entry.ranks, 2) << "there are no five workers";
    EXPECT_NEAR(entry.median_s, all_reduce_s(2, entry.bytes), 1e-9) << entry.bytes;
    EXPECT_NEAR(entry.behind_s, 0.25 * all_reduce_s(2, entry.bytes), 1e-9) << entry.bytes;
  }
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 4 << 10, 64 << 10, 120'000, 256 << 10, 1 << 20, 4 << 20,
                                              40'000'000}));
  EXPECT_DOUBLE_EQ(NetworkTable(profile).all_reduce(2, Bytes(120'000))->count(),
                   profile.all_reduces[3].median_s);
  // 40 MB at 100 MB/s allow six repetitions in an acceptable time.
  EXPECT_EQ(profile.all_reduces[3].raw_s.size(), 6U);
}

TEST(LongCalibration, KnowsTheAllReducesOfItsJob) {
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  calibrate_simulated(calibration, job, folder);
  const auto series = all_reduce_series_of(*job);
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series.front().ranks, 2);
  ASSERT_EQ(series.front().bytes.size(), job->model().buckets.size());
  EXPECT_EQ(series.front().bytes.front(), 4 * job->model().buckets.front().exchanged());
  EXPECT_EQ(all_reduce_series_from_json(to_json(series)), series);
  for (const char* bad : {R"([{"ranks": 1, "bytes": [4]}])", R"([{"ranks": 2, "bytes": []}])",
                          R"([{"ranks": 2, "bytes": [6]}])", R"([{"ranks": 2}])", "3"})
    EXPECT_THROW(all_reduce_series_from_json(nlohmann::json::parse(bad)), ConfigError) << bad;
}

TEST(LongCalibration, MeasuresSumsThatMoveAsMuchAsCompressedMessages) {
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  calibrate_simulated(calibration, job, folder, {}, {}, "top-k");
  const auto series = all_reduce_series_of(*job);
  ASSERT_EQ(series.size(), 1U);
  const std::vector<std::int64_t> sums = job->exchange().summed_elements();
  ASSERT_EQ(series.front().bytes.size(), sums.size());
  for (std::size_t bucket = 0; bucket < sums.size(); ++bucket) {
    EXPECT_EQ(series.front().bytes[bucket], 4 * sums[bucket]);
    EXPECT_LT(sums[bucket], job->model().buckets[bucket].exchanged());
  }
}

TEST(Calibration, FindsHowLongSendsBlockTheirRank) {
  const Profile::Path truth{.from = "host-0",
                            .to = "host-1",
                            .links = 2,
                            .bandwidth = bandwidth,
                            .messages = {{1'000, 0, 0, {}, 50e-6, {}}, {1'000'000, 0, 0, {}, 1e-3, {}}},
                            .segments = {{0, latency_s, 1 / bandwidth}}};
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1'000, 1'000'000};
  calibration.partners = {{.rank = 1, .links = 2, .bandwidth = bandwidth}};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const auto messages =
      calibrate_simulated(calibration, job, folder,
                          [&](sim::SimulationSetting& setting) { setting.network = {truth}; })
          .paths.front()
          .messages;
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_NEAR(messages[0].send_s, 50e-6, 1e-9);
  EXPECT_NEAR(messages[1].send_s, 1e-3, 1e-9);
}

TEST(LongCalibration, FindsHowMuchTheTransportBuffersOfASend) {
  const Profile::Path truth{.from = "host-0",
                            .to = "host-1",
                            .links = 2,
                            .bandwidth = bandwidth,
                            .messages = {},
                            .segments = {{0, latency_s, 1 / bandwidth}},
                            .held_bytes = 300'000};
  CalibrationSetting calibration = with_small_sums();
  calibration.partners = {{.rank = 1, .links = 2, .bandwidth = bandwidth}};
  calibration.message_repetitions = 2;
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const Profile profile = calibrate_simulated(
      calibration, job, folder, [&](sim::SimulationSetting& setting) { setting.network = {truth}; });
  EXPECT_NEAR(static_cast<double>(profile.paths.front().held_bytes), 300e3, 100.0);
}

TEST(LongCalibration, FindsHowUnequallyMessagesShareALink) {
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000};
  calibration.sharers = {1, 2};
  calibration.sharing_repetitions = 1000;
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const Profile profile = calibrate_simulated(calibration, job, folder, [](sim::SimulationSetting& setting) {
    setting.noise = {.seed = 1, .share_jitter_bytes = 0.2 * (1 << 20)};
  });
  EXPECT_NEAR(profile.share_jitter_bytes / (1 << 20), 0.2, 0.02);
}

TEST(Calibration, FindsThatMessagesShareALinkEqually) {
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000};
  calibration.sharers = {1, 2};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  // The second sender receives its start signal one latency later.
  EXPECT_NEAR(calibrate_simulated(calibration, job, folder).share_jitter_bytes, 0.0, 0.01 * (1 << 20));
}

TEST(LongCalibration, MeasuresTheCompressionOfItsJob) {
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const Profile profile = calibrate_simulated(calibration, job, folder, {}, {}, "top-k");
  const CostModel device = job->devices().cost_model(0);
  EXPECT_EQ(device.subject(Work::Kind::compress), "top-k (error_feedback true, ratio 0.01)");
  EXPECT_EQ(device.subject(Work::Kind::forward), "mlp");
  const std::int64_t parameters = job->model().buckets.front().parameters;
  for (const auto kind : {Work::Kind::compress, Work::Kind::decompress})
    for (const std::int64_t elements : {parameters, (parameters + 1) / 2, 3 * parameters / 4}) {
      const Work work{.kind = kind, .bytes = Bytes(4 * elements)};
      EXPECT_NEAR(PriceTable(profile).price(device.subject(kind), work).value().count(),
                  device.price(work).count(), 1e-8)
          << name_of(kind);
      EXPECT_FALSE(PriceTable(profile).price("top-k (error_feedback true, ratio 0.5)", work))
          << "not measured";
    }
}

TEST(Calibration, FindsTheStartOffsetOfEachRank) {
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000};
  const std::vector<Seconds> begins = {Seconds(0.002), Seconds(0.0005), Seconds(0.007)};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const Profile profile = calibrate_simulated(
      calibration, job, folder, [&](sim::SimulationSetting& setting) { setting.start_offsets = begins; });
  EXPECT_EQ(profile.start_offsets.model, "mlp");
  ASSERT_EQ(profile.start_offsets.raw_s.size(), begins.size());
  for (std::size_t rank = 0; rank < begins.size(); ++rank)
    EXPECT_NEAR(profile.start_offsets.raw_s[rank], begins[rank].count(), 1e-8) << rank;
}

/// Costs of a device's work: all kinds but decoding are slower while messages are in flight, and some are
/// slower the first time.
Profile disturbed_devices(const ModelDescription& model, int batch) {
  Profile profile;
  profile.paths = {{.from = "host-0", .to = "host-1", .messages = {}, .segments = {{0, 1e-4, 1e-8}}}};
  const auto add = [&](Work::Kind kind, int bucket, double usual_s, double extra_s, double slowdown) {
    const bool has_samples = kind != Work::Kind::update && kind != Work::Kind::reduce;
    profile.compute.push_back({model.name,
                               kind,
                               bucket,
                               has_samples ? batch : 0,
                               model.bytes().count(),
                               usual_s,
                               0.0,
                               {usual_s},
                               usual_s + extra_s,
                               {usual_s * slowdown}});
  };
  add(Work::Kind::decode, -1, 0.5e-3, 0, 1.0);
  add(Work::Kind::forward, -1, 4e-3, 7e-3, 1.5);
  for (int bucket = 0; bucket < static_cast<int>(model.buckets.size()); ++bucket)
    add(Work::Kind::backward, bucket, (5 + bucket) * 1e-3, 1e-3 * bucket, 1.25);
  add(Work::Kind::update, -1, 1e-3, 2e-3, 1.1);
  add(Work::Kind::reduce, -1, 0.8e-3, 0, 2.0);
  profile.hosts = {{"host-0", 1.0, 0.0, {}}, {"host-1", 1.3, 0.0, {}}, {"host-2", 0.8, 0.0, {}}};
  return profile;
}

TEST(Calibration, OfASimulationReproducesItsProfile) {
  const testing::TemporaryFolder folder;
  const testing::TemporaryPlatform file(testing::three_hosts);
  const Job known(star_experiment(file.path()), platforms::load_platform(file.path()), "");
  const Profile truth = disturbed_devices(known.model(), known.spec().experiment.workload.batch);
  const std::string path = folder.path().string() + "/truth.json";
  save_profile(path, truth);
  CalibrationSetting calibration = with_small_sums();
  calibration.partners = {{.rank = 1}, {.rank = 2, .links = 2, .bandwidth = bandwidth}};
  calibration.message_bytes = {1, 1000, 1'000'000};
  calibration.host_ranks = {1, 2};
  std::unique_ptr<Job> job;
  const Profile found = calibrate_simulated(calibration, job, folder, {}, path);

  for (const auto& entry : truth.compute) {
    const Work work{
        .kind = entry.kind, .bucket = entry.bucket, .samples = entry.samples, .bytes = Bytes(entry.bytes)};
    EXPECT_NEAR(PriceTable(found).price("mlp", work)->count(), entry.median_s, 1e-8) << name_of(entry.kind);
    EXPECT_NEAR(PriceTable(found).first_extra("mlp", work).count(), entry.first_s - entry.median_s, 1e-8)
        << name_of(entry.kind) << entry.bucket;
    EXPECT_NEAR(PriceTable(found).slowdown("mlp", entry.kind), PriceTable(truth).slowdown("mlp", entry.kind),
                1e-5)
        << name_of(entry.kind);
  }
  ASSERT_EQ(found.hosts.size(), 3U);
  for (const auto& host : truth.hosts)
    for (const Work::Kind kind : {Work::Kind::forward, Work::Kind::update, Work::Kind::reduce})
      EXPECT_NEAR(found.host_entry(host.host, "processor")->ratio_of(kind), host.ratio, 1e-5) << host.host;
  ASSERT_EQ(found.start_offsets.raw_s.size(), 3U);
  for (const double begin_s : found.start_offsets.raw_s) EXPECT_NEAR(begin_s, 0.0, 1e-12);
}

TEST(LongCalibration, OfOneHostHasNoRatiosOfHosts) {
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const Profile profile = calibrate_simulated(calibration, job, folder);
  EXPECT_TRUE(profile.hosts.empty());
  EXPECT_EQ(profile.host_entry("host-1", "processor"), nullptr);
}

/// Compared with a GPU, a processor is far slower for most kinds of work, but not for all, and not in
/// first-time costs.
TEST(Calibration, FindsTheRatioOfHostsForEachKindOfWork) {
  const testing::TemporaryFolder folder;
  const testing::TemporaryPlatform file(testing::three_hosts);
  const Job known(star_experiment(file.path()), platforms::load_platform(file.path()), "");
  Profile truth = disturbed_devices(known.model(), known.spec().experiment.workload.batch);
  truth.hosts = {{.host = "host-0", .ratio = 1.0, .spread = 0.0, .raw_s = {}},
                 {.host = "host-1",
                  .ratio = 1.5,
                  .spread = 0.0,
                  .raw_s = {},
                  .kind = "processor",
                  .works = {{Work::Kind::forward, 40.0, 0.5}, {Work::Kind::update, 3.0, 2.0}}}};
  const std::string path = folder.path().string() + "/truth.json";
  save_profile(path, truth);
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000};
  calibration.host_ranks = {1};
  std::unique_ptr<Job> job;
  const Profile found = calibrate_simulated(calibration, job, folder, {}, path);

  const auto* const entry = found.host_entry("host-1", "processor");
  ASSERT_NE(entry, nullptr);
  EXPECT_NEAR(entry->ratio_of(Work::Kind::forward), 40.0, 1e-4);
  EXPECT_NEAR(entry->first_ratio_of(Work::Kind::forward), 0.5, 1e-4);
  EXPECT_NEAR(entry->ratio_of(Work::Kind::update), 3.0, 1e-4);
  EXPECT_NEAR(entry->first_ratio_of(Work::Kind::update), 2.0, 1e-4);
  EXPECT_NEAR(entry->ratio_of(Work::Kind::backward), 1.5, 1e-4);
  EXPECT_NEAR(entry->ratio_of(Work::Kind::reduce), 1.5, 1e-4);
  save_profile(path, found);
  EXPECT_NEAR(load_profile(path).host_entry("host-1", "processor")->ratio_of(Work::Kind::update), 3.0, 1e-4);
}

TEST(LongCalibration, MeasuresPathsThatDoNotStartAtRank0) {
  CalibrationSetting calibration = with_small_sums();
  calibration.message_bytes = {1, 1000, 1'000'000};
  calibration.partners = {{.rank = 1}, {.rank = 2, .from = 1}};
  std::unique_ptr<Job> job;
  const testing::TemporaryFolder folder;
  const Profile profile = calibrate_simulated(calibration, job, folder);
  ASSERT_EQ(profile.paths.size(), 2U);
  const Profile::Path& path = profile.paths[1];
  EXPECT_EQ(path.from, "host-1");
  EXPECT_EQ(path.to, "host-2");
  EXPECT_TRUE(path.is_between("processor", "processor"));
  EXPECT_FALSE(path.is_between("processor", "h200"));
  ASSERT_EQ(path.messages.size(), 3U);
  EXPECT_EQ(path.messages[0].raw_s.size(), profile.paths[0].messages[0].raw_s.size());
  ASSERT_FALSE(path.segments.empty());
  EXPECT_NEAR(path.segments[0].alpha_s, latency_s, 1e-8);
}

/// Measured disturbances apply to native devices; emulated devices follow the platform file.
TEST(ComputeTimeSampler, IgnoresDisturbancesForEmulatedDevices) {
  const testing::TemporaryFolder folder;
  const testing::TemporaryPlatform file(testing::three_hosts);
  Experiment experiment = star_experiment(file.path());
  experiment.workload.math = Experiment::Workload::Math::modelled;
  const auto platform = platforms::load_platform(file.path());
  const ModelDescription model = Job(experiment, platform, "").model();
  Profile profile = disturbed_devices(model, experiment.workload.batch);
  profile.start_offsets = {.model = "", .raw_s = {1e-3, 3e-3, 8e-3}};
  experiment.physics.profile = folder.path().string() + "/profile.json";
  save_profile(experiment.physics.profile, profile);

  const Work work{.kind = Work::Kind::forward, .samples = experiment.workload.batch};
  const Job native(experiment, platform, "");
  ComputeTimeSampler measured(native, 1, 1);
  EXPECT_TRUE(ComputeTimeSampler::any_slowdown(native));
  EXPECT_EQ(measured.begin(), Seconds(3e-3));
  EXPECT_NEAR(measured.next(work).count(), 1.3 * (4e-3 + 7e-3), 1e-12);
  EXPECT_NEAR(measured.next(work).count(), 1.3 * 4e-3, 1e-12);
  EXPECT_EQ(measured.slowdown(work), 1.5);

  experiment.run.devices = DeviceSpeed::emulated;
  const Job job(experiment, platform, "");
  ComputeTimeSampler emulated(job, 1, 1);
  EXPECT_FALSE(ComputeTimeSampler::any_slowdown(job));
  EXPECT_EQ(emulated.begin(), Seconds(3e-3));
  EXPECT_EQ(emulated.next(work), job.devices().cost_model(1).price(work));
  EXPECT_EQ(emulated.next(work), job.devices().cost_model(1).price(work));
  EXPECT_EQ(emulated.slowdown(work), 1.0);

  experiment.physics.noise = NoiseSource::profile;
  const Job noisy(experiment, platform, "");
  std::set<double> begins;
  for (Rank rank = 0; rank < 3; ++rank) {
    begins.insert(ComputeTimeSampler(noisy, rank, 1).begin().count());
    EXPECT_EQ(ComputeTimeSampler(noisy, rank, 1).begin(), ComputeTimeSampler(noisy, rank, 1).begin());
  }
  for (const double begin_s : begins) EXPECT_TRUE(begin_s == 1e-3 || begin_s == 3e-3 || begin_s == 8e-3);
}

TEST(Noise, HasTheMeasuredDistributionAndDependsOnlyOnTheSeed) {
  const auto profile = std::make_shared<Profile>();
  profile->compute = {{"mlp", Work::Kind::forward, -1, 10, 0, 2.0, 0.0, {1.0, 2.0, 6.0}}};
  const auto model = std::make_shared<const ModelDescription>();
  const auto priced = std::make_shared<const PricedModel>(model, "mlp", CompressionCost(), profile);
  const CostModel device(priced, {});
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

}  // namespace TANDEM_FILE
}  // namespace tandem

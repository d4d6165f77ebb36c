// Ratios and costs in a profile for hosts that are known by name or by kind.
#include "workloads/cost/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/cost/cost_model.hpp"
#include "workloads/cost/price_table.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {
namespace TANDEM_FILE {

TEST(Profile, ADamagedFileIsNamedWithLineAndKey) {
  Profile profile;
  profile.paths.resize(1);
  profile.paths.front().segments.resize(1);
  const testing::TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    try {
      load_profile(folder.write("p.json", text));
    } catch (const ConfigError& error) {
      return std::string(error.what()).substr(folder.path().string().size() + 1);
    }
    return std::string("no error");
  };
  const std::string whole = to_json(profile).dump(1);
  EXPECT_EQ(message(whole), "no error");
  const std::string entry = "\"alpha_s\": 0.0";
  const std::size_t at = whole.find(entry);
  const auto line =
      std::to_string(1 + std::count(whole.begin(), whole.begin() + static_cast<long>(at), '\n'));
  std::string other = whole;
  EXPECT_EQ(message(other.replace(at, entry.size(), "\"alpha_s\": \"fast\"")),
            "p.json:" + line +
                ": not a calibration profile: /paths/0/segments/0/alpha_s: expected a number, found a text");
  EXPECT_TRUE(message(whole.substr(0, at)).starts_with("p.json:" + line + ":"))
      << message(whole.substr(0, at));
  EXPECT_TRUE(
      message("{\"schema_version\": 1}").starts_with("p.json: profile has schema version 1, expected "));
  EXPECT_NE(message("[]").find("p.json: not a calibration profile"), std::string::npos) << message("[]");
}

/// On one machine, hosts that were not calibrated by name have the speed of their kind.
TEST(Profile, FindsHostsByNameOrKind) {
  Profile profile;
  const auto add = [&](const std::string& host, const std::string& kind, double ratio) {
    profile.hosts.push_back({.host = host, .ratio = ratio, .spread = 0.0, .raw_s = {}, .kind = kind});
  };
  add("a", "h200", 1.0);
  add("b", "processor", 30.0);
  add("c", "processor", 40.0);
  const auto ratio = [&](const std::string& host, const std::string& kind) {
    const auto* const entry = profile.host_entry(host, kind);
    return entry == nullptr ? 0.0 : entry->ratio_of(Work::Kind::forward);
  };
  EXPECT_EQ(ratio("a", "h200"), 1.0);
  EXPECT_EQ(ratio("other", "h200"), 1.0);
  EXPECT_EQ(ratio("c", "processor"), 40.0);
  EXPECT_EQ(ratio("other", "processor"), 30.0);
  EXPECT_EQ(ratio("a", "processor"), 30.0) << "for example a cache node on that host";
  EXPECT_EQ(ratio("a", "a100"), 0.0);
}

/// One machine with GPUs: ranks on the processor have the processor's times.
TEST(Profile, PricesWorkByTheKindOfItsHost) {
  const auto profile = std::make_shared<Profile>();
  profile->compute = {
      {"mlp", Work::Kind::forward, -1, 10, 0, 1e-3, 0.0, {1e-3}, 3e-3},
      {"mlp", Work::Kind::update, -1, 0, 1000, 2e-3, 0.0, {2e-3}, 2e-3},
  };
  profile->hosts = {{.host = "gpu", .ratio = 1.0, .spread = 0.0, .raw_s = {}, .kind = "h200"},
                    {.host = "",
                     .ratio = 7.0,
                     .spread = 0.0,
                     .raw_s = {},
                     .kind = "processor",
                     .works = {{Work::Kind::update, 20.0, 1.0}, {Work::Kind::forward, 50.0, 0.25}}}};
  const platforms::Device device{"d", FlopsPerSecond(1e9), BytesPerSecond(1e9), Seconds(0), false};
  const auto priced = std::make_shared<const PricedModel>(std::make_shared<const ModelDescription>(), "mlp",
                                                          CompressionCost(), profile);
  const CostModel gpu(priced, device, "gpu", "h200");
  const CostModel processor(priced, device, "processor", "processor");
  const Work forward{.kind = Work::Kind::forward, .samples = 10};
  const Work update{.kind = Work::Kind::update, .bytes = Bytes(1000)};
  EXPECT_NEAR(gpu.price(forward).count(), 1e-3, 1e-12);
  EXPECT_NEAR(processor.price(forward).count(), 50e-3, 1e-12);
  EXPECT_NEAR(processor.price(update).count(), 40e-3, 1e-12);
  EXPECT_NEAR(processor.first_extra(forward).count(), 0.5e-3, 1e-12);
  Rng random = Rng::stream(1, "draw");
  EXPECT_NEAR(processor.draw(update, random).count(), 40e-3, 1e-12);
}

TEST(Profile, PricesDecodingByNumberAndStoredSize) {
  Profile profile;
  const auto add = [&](int samples, std::int64_t stored) {
    // 1 ms for the pixels of each sample, 10 ns for each stored byte.
    const double time_s = 1e-3 * samples + 10e-9 * static_cast<double>(stored);
    profile.compute.push_back({.model = "mlp",
                               .kind = Work::Kind::decode,
                               .bucket = -1,
                               .samples = samples,
                               .bytes = 100 * samples,
                               .median_s = time_s,
                               .spread = 0.0,
                               .raw_s = {time_s},
                               .first_s = time_s,
                               .stored = stored});
  };
  const auto price = [&](int samples, std::int64_t stored) {
    return PriceTable(profile)
        .price("mlp", {.kind = Work::Kind::decode,
                       .samples = samples,
                       .bytes = Bytes(100 * samples),
                       .stored = Bytes(stored)})
        .value()
        .count();
  };
  add(8, 80'000);
  EXPECT_NEAR(price(4, 1'000'000), 4 * 1.1e-3, 1e-12) << "one size: by the number of samples alone";
  add(8, 16'000);
  add(8, 800'000);
  EXPECT_NEAR(price(8, 160'000), 9.6e-3, 1e-9);
  EXPECT_NEAR(price(3, 5'000'000), 53e-3, 1e-9);
  EXPECT_NEAR(PriceTable(profile).price("mlp", {.kind = Work::Kind::decode, .samples = 8}).value().count(),
              8.8e-3, 1e-12)
      << "records, whose size is one";
  EXPECT_FALSE(
      PriceTable(profile).price("mlp (2 decoding threads)", {.kind = Work::Kind::decode, .samples = 8}));
}

TEST(CostModel, ImagesAreDecodedOnThreads) {
  const platforms::Device device{"d", FlopsPerSecond(1e9), BytesPerSecond(1e9), Seconds(0), false};
  const auto price = [&](int threads, const Work& work) {
    const auto priced =
        std::make_shared<const PricedModel>(std::make_shared<const ModelDescription>(), "mlp",
                                            CompressionCost(), nullptr, Precision::fp32, threads);
    return CostModel(priced, device).price(work).count();
  };
  const Work records{.kind = Work::Kind::decode, .samples = 8, .bytes = Bytes(8000)};
  const Work images{
      .kind = Work::Kind::decode, .samples = 8, .bytes = Bytes(8000), .stored = Bytes(1'000'000)};
  EXPECT_EQ(price(4, records), price(1, records));
  const double one_thread = price(1, images) - price(1, records);
  EXPECT_GT(one_thread, 1e-3);
  EXPECT_NEAR(price(4, images) - price(1, records), one_thread / 4, 1e-12);
  EXPECT_NEAR(price(100, images) - price(1, records), one_thread / 8, 1e-12) << "no more threads than images";
}

TEST(CostModel, TheNetworkHasTheSpeedOfItsPrecision) {
  auto model = std::make_shared<ModelDescription>();
  model->buckets = {{.forward = Flops(1e12), .backward = Flops(2e12)}};
  const Work forward{.kind = Work::Kind::forward, .bucket = 0, .samples = 10};
  const Work update{.kind = Work::Kind::update, .bytes = Bytes(1000)};
  const auto price = [&](const char* device, Precision precision, const Work& work) {
    const auto priced =
        std::make_shared<const PricedModel>(model, "m", CompressionCost(), nullptr, precision);
    const auto& figures = platforms::find_device(device);
    return (CostModel(priced, figures).price(work) - figures.launch).count();
  };
  EXPECT_NEAR(price("a100", Precision::fp32, forward), 1e13 / (0.40 * 19.5e12), 1e-9);
  EXPECT_NEAR(price("a100", Precision::tf32, forward), 1e13 / (0.30 * 156e12), 1e-9);
  EXPECT_NEAR(price("a100", Precision::bf16, forward), 1e13 / (0.30 * 312e12), 1e-9);
  EXPECT_NEAR(price("t4", Precision::fp16, forward), 1e13 / (0.30 * 65e12), 1e-9);
  EXPECT_EQ(price("t4", Precision::tf32, forward), price("t4", Precision::fp32, forward));
  EXPECT_EQ(price("t4", Precision::bf16, forward), price("t4", Precision::fp32, forward));
  EXPECT_EQ(price("a100", Precision::bf16, update), price("a100", Precision::fp32, update))
      << "optimisers stay in fp32";
}

/// Times of the session of 2026-11-28 (validation/reports/gpu-2026-11-28.md), in which vectors of 128 MiB and
/// 1 GiB did not fit into a cache.
TEST(CostModel, KernelsOfAnH100CostWhatWasMeasured) {
  struct Case {
    const char* kernel;
    Work::Kind kind;
    std::int64_t mebibytes;
    double measured_us;
  };
  const auto priced = std::make_shared<const PricedModel>(std::make_shared<const ModelDescription>(), "m",
                                                          CompressionCost(), nullptr);
  const CostModel costs(priced, platforms::find_device("h100"));
  using enum Work::Kind;
  for (const auto& [kernel, kind, mebibytes, measured_us] :
       {Case{"sgd", update, 128, 137.8}, Case{"sgd", update, 1024, 1105}, Case{"add", reduce, 128, 137.4},
        Case{"add", reduce, 1024, 1104},
        // Of as many elements of 16 bits.
        Case{"add_fp16", reduce, 64, 70.4}, Case{"add_fp16", reduce, 512, 553.6},
        Case{"add_bf16", reduce, 64, 69.93}, Case{"add_bf16", reduce, 512, 549.5},
        Case{"add_fp16", reduce, 2, 4.098}, Case{"add_bf16", reduce, 2, 4.114}}) {
    const double price_us =
        costs.price({.kind = kind, .bytes = Bytes(mebibytes * 1024 * 1024)}).count() * 1e6;
    EXPECT_NEAR(price_us / measured_us, 1.0, 0.2) << kernel << ' ' << mebibytes << " MiB";
  }
}

/// Of 25.6 million values, at the bytes and kernels of its radix select: 24.12 bytes per value and ten starts
/// of 2.6 us. A processor sorts magnitudes in three passes.
TEST(CostModel, AGpuSelectsTheLargestInItsOwnPasses) {
  const auto& entry = compression::catalog().find("top-k");
  const Options options = Options::resolve("top-k", entry.options, {});
  const auto priced =
      std::make_shared<const PricedModel>(std::make_shared<const ModelDescription>(), "m",
                                          CompressionCost{"top-k", entry.make.efforts(options)}, nullptr);
  const auto price = [&](const platforms::Device& device) {
    return CostModel(priced, device)
        .price({.kind = Work::Kind::compress, .bytes = Bytes(102'400'000)})
        .count();
  };
  const platforms::Device& h100 = platforms::find_device("h100");
  EXPECT_NEAR(price(h100), 10 * 2.6e-6 + 25.6e6 * (16 + 8 + 0.12) / (0.87 * 3.35e12), 1e-9);
  EXPECT_NEAR(price(h100), 238e-6, 1e-6);
  platforms::Device processor = h100;
  processor.is_gpu = false;
  EXPECT_NEAR(price(processor), 20e-6 + 25.6e6 * 52 / (0.87 * 3.35e12), 1e-9);
}

/// Two workers, on a GPU of the catalogue and on an unnamed GPU, and a server on the processor.
Job job_with_gpus(DeviceSpeed devices, Experiment::Workload::Math math) {
  platforms::Description platform;
  platform.file = "platform.xml";
  for (const char* name : {"a", "b", "c"}) {
    platforms::Host host;
    host.name = name;
    host.speed = FlopsPerSecond(1e9);
    host.device = {"host", host.speed, BytesPerSecond(1e9), Seconds(0), false};
    platform.hosts.push_back(host);
  }
  platform.hosts[0].device = platforms::find_device("h200");
  platform.hosts[0].gpu = 0;
  platform.hosts[1].gpu = 3;
  Experiment experiment;
  experiment.platform = platform.file;
  experiment.workload.math = math;
  experiment.workload.model = "mlp";
  experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 60;
  experiment.workload.test_samples = 10;
  experiment.workload.batch = 20;
  experiment.placement.workers = {"a", "b"};
  experiment.placement.servers = {"c"};
  experiment.run.devices = devices;
  return {experiment, platform, ""};
}

std::vector<std::string> kinds_of(const Job& job) {
  std::vector<std::string> kinds;
  for (Rank rank = 0; rank < 4; ++rank) kinds.push_back(job.devices().kind_of(rank));
  return kinds;
}

TEST(KindsOfHosts, AreGpusOnlyForNativeDevices) {
  using Math = Experiment::Workload::Math;
  const Job native = job_with_gpus(DeviceSpeed::native, Math::real);
  EXPECT_EQ(kinds_of(native), (std::vector<std::string>{"h200", "gpu", "processor", "processor"}));
  EXPECT_EQ(native.devices().gpu_of(0), 0);
  EXPECT_EQ(native.devices().gpu_of(1), 3);
  EXPECT_FALSE(native.devices().gpu_of(2));
  EXPECT_FALSE(native.devices().gpu_of(3)) << "no rank is on this host";
  // Modelled work takes as long as on the GPU, but does not use it.
  const Job modelled = job_with_gpus(DeviceSpeed::native, Math::modelled);
  EXPECT_EQ(kinds_of(modelled), kinds_of(native));
  EXPECT_FALSE(modelled.devices().gpu_of(0));
  const Job emulated = job_with_gpus(DeviceSpeed::emulated, Math::real);
  EXPECT_EQ(kinds_of(emulated), (std::vector<std::string>(4, "processor")));
  EXPECT_FALSE(emulated.devices().gpu_of(0));
}

}  // namespace TANDEM_FILE
}  // namespace tandem

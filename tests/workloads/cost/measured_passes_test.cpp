// Times of forward and backward passes that a user measured, against numbers computed by hand.
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"
#include "workloads/cost/cost_model.hpp"
#include "workloads/experiment/key_error.hpp"
#include "workloads/job/check/job_description.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {
namespace TANDEM_FILE {

using enum Work::Kind;

/// Two buckets with a quarter and three quarters of the forward pass, a half and a half of the backward pass.
std::shared_ptr<const ModelDescription> two_buckets() {
  auto model = std::make_shared<ModelDescription>();
  model->buckets = {{.forward = Flops(1e9), .backward = Flops(4e9)},
                    {.forward = Flops(3e9), .backward = Flops(4e9)}};
  return model;
}

/// 60 ms and 120 ms with 32 samples on an A100.
double price(const char* device, Precision precision, const Work& work) {
  const MeasuredPasses measured{Seconds(0.060), Seconds(0.120), 32, platforms::find_device("a100")};
  const auto priced = std::make_shared<const PricedModel>(two_buckets(), "m", CompressionCost(), nullptr,
                                                          precision, 1, measured);
  return CostModel(priced, platforms::find_device(device)).price(work).count();
}

TEST(MeasuredPasses, TheMeasuredDeviceTakesExactlyTheseTimes) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    EXPECT_EQ(price("a100", precision, {.kind = forward, .samples = 32}), 0.060);
    EXPECT_EQ(price("a100", precision, {.kind = backward, .samples = 32}), 0.120);
    EXPECT_EQ(price("a100", precision, {.kind = evaluate, .samples = 32}), 0.060);
  }
}

TEST(MeasuredPasses, BucketsAndSamplesAreInProportion) {
  EXPECT_NEAR(price("a100", Precision::fp32, {.kind = forward, .bucket = 0, .samples = 32}), 0.015, 1e-12);
  EXPECT_NEAR(price("a100", Precision::fp32, {.kind = forward, .bucket = 1, .samples = 32}), 0.045, 1e-12);
  EXPECT_NEAR(price("a100", Precision::fp32, {.kind = backward, .bucket = 1, .samples = 32}), 0.060, 1e-12);
  EXPECT_NEAR(price("a100", Precision::fp32, {.kind = backward, .samples = 8}), 0.030, 1e-12);
  EXPECT_NEAR(price("a100", Precision::fp32, {.kind = backward, .bucket = 0, .samples = 64}), 0.120, 1e-12);
}

/// The catalogue's rates: A100 0.40 x 19.5 Tflop/s in fp32 and 0.30 x 312 in bf16 and fp16, T4 0.40 x 8.1 in
/// fp32 and 0.30 x 65 in fp16.
TEST(MeasuredPasses, AnotherDeviceIsScaledByTheRatesOfThePrecision) {
  EXPECT_NEAR(price("t4", Precision::fp32, {.kind = forward, .samples = 32}), 0.060 * 7.8 / 3.24, 1e-12);
  EXPECT_NEAR(price("t4", Precision::fp16, {.kind = backward, .samples = 32}), 0.120 * 93.6 / 19.5, 1e-12);
}

/// The buckets of the same step, of which the device has completed the first after 80 ms and the second after
/// 180 ms; the processor launches the step in 250 ms, the first bucket in 100 ms.
double price_of_buckets(const char* device, Seconds host, const Work& work, Seconds moved = Seconds(0)) {
  const MeasuredPasses measured{
      .forward = Seconds(0.060),
      .backward = Seconds(0.120),
      .samples = 32,
      .device = platforms::find_device("a100"),
      .buckets = {{Seconds(0.080) + moved, host > Seconds(0) ? Seconds(0.100) : Seconds(0)},
                  {Seconds(0.180), Seconds(0)}},
      .update = Seconds(0.020),
      .host = host};
  const auto priced = std::make_shared<const PricedModel>(two_buckets(), "m", CompressionCost(), nullptr,
                                                          Precision::fp32, 1, measured);
  return CostModel(priced, platforms::find_device(device)).price(work).count();
}

TEST(MeasuredPasses, BucketsAreReadyAsListed) {
  const Seconds never(0);
  EXPECT_NEAR(price_of_buckets("a100", never, {.kind = forward, .samples = 32}), 0.060, 1e-12);
  EXPECT_NEAR(price_of_buckets("a100", never, {.kind = backward, .bucket = 0, .samples = 32}), 0.020, 1e-12);
  EXPECT_NEAR(price_of_buckets("a100", never, {.kind = backward, .bucket = 1, .samples = 32}), 0.100, 1e-12);
  EXPECT_NEAR(price_of_buckets("a100", never, {.kind = backward, .samples = 32}), 0.120, 1e-12);
  const double slower = 7.8 / 3.24;
  EXPECT_NEAR(price_of_buckets("t4", never, {.kind = backward, .bucket = 1, .samples = 32}), 0.100 * slower,
              1e-12);
  const Seconds later(0.010);
  EXPECT_NEAR(price_of_buckets("a100", never, {.kind = backward, .bucket = 0, .samples = 32}, later), 0.030,
              1e-12);
  EXPECT_NEAR(price_of_buckets("a100", never, {.kind = backward, .bucket = 1, .samples = 32}, later), 0.090,
              1e-12);
}

/// The processor takes 250 ms for 200 ms of the device: 75 ms until the end of the forward pass, 100 ms as
/// given, 225 ms until the end of the backward pass. A device of any speed is not earlier.
TEST(MeasuredPasses, TheProcessorsTimeDoesNotShrink) {
  const Seconds host(0.250);
  for (const char* device : {"a100", "h100"}) {
    EXPECT_NEAR(price_of_buckets(device, host, {.kind = forward, .samples = 32}), 0.075, 1e-12);
    EXPECT_NEAR(price_of_buckets(device, host, {.kind = backward, .bucket = 0, .samples = 32}), 0.025, 1e-12);
    EXPECT_NEAR(price_of_buckets(device, host, {.kind = backward, .bucket = 1, .samples = 32}), 0.125, 1e-12);
    EXPECT_NEAR(price_of_buckets(device, host, {.kind = launch}), 0.250, 1e-12);
  }
  const Work update{.kind = Work::Kind::update, .bytes = two_buckets()->bytes()};
  EXPECT_NEAR(price_of_buckets("a100", host, update), 0.020, 1e-12) << "the rest is launched meanwhile";
  EXPECT_NEAR(price_of_buckets("a100", host, {.kind = forward, .samples = 64}), 0.120, 1e-12)
      << "a larger batch";
}

TEST(MeasuredPasses, TheUpdateIsMeasuredToo) {
  const Work update{.kind = Work::Kind::update, .bytes = two_buckets()->bytes()};
  EXPECT_NEAR(price_of_buckets("a100", Seconds(0), update), 0.020, 1e-12);
}

TEST(MeasuredPasses, OtherWorkIsEstimated) {
  const Work update{.kind = Work::Kind::update, .bytes = Bytes(1000)};
  const auto priced = std::make_shared<const PricedModel>(two_buckets(), "m", CompressionCost(), nullptr);
  EXPECT_EQ(price("t4", Precision::fp32, update),
            CostModel(priced, platforms::find_device("t4")).price(update).count());
}

class MeasuredJob : public ::testing::Test {
 protected:
  MeasuredJob() {
    platform_.file = "two.xml";
    for (const char* device : {"a100", "t4"}) {
      auto& host = platform_.hosts.emplace_back();
      host.name = device;
      host.device = platforms::find_device(device);
    }
    auto& workload = experiment_.workload;
    workload.model = "synthetic";
    workload.dataset = "synthetic";
    workload.train_samples = 100;
    workload.test_samples = 10;
    workload.batch = 32;
    workload.synthetic_forward = Flops(1e9);
    workload.synthetic_backward = Flops(2e9);
    experiment_.sync.over = sync::Route::all_reduce;
    experiment_.placement.workers = {"a100", "t4"};
    experiment_.stop.rounds = 1;
  }
  Job job() const { return {experiment_, platform_, ""}; }
  std::pair<double, double> passes(Rank rank) const {
    const CostModel costs = job().devices().cost_model(rank);
    return {costs.price({.kind = forward, .samples = 32}).count(),
            costs.price({.kind = backward, .samples = 32}).count()};
  }
  /// "1 x a100 (...)".
  std::string devices_line() const {
    for (const auto& line : describe_job(job()))
      if (line.starts_with("devices of the workers")) return line;
    return "";
  }
  testing::TemporaryFolder folder_;
  platforms::Description platform_;
  Experiment experiment_;
};

TEST_F(MeasuredJob, AStepIsDividedAsTheFlopsOfThePasses) {
  experiment_.workload.measured_step = Seconds(0.180);
  EXPECT_NEAR(passes(0).first, 0.060, 1e-12);
  EXPECT_NEAR(passes(0).second, 0.120, 1e-12);
  EXPECT_NEAR(passes(1).first, 0.060 * 7.8 / 3.24, 1e-12);
  experiment_.workload.measured_forward = Seconds(0.050);
  EXPECT_NEAR(passes(0).first, 0.050, 1e-12);
  EXPECT_NEAR(passes(0).second, 0.130, 1e-12);
  experiment_.workload.measured_forward = Seconds(0);
  experiment_.workload.measured_backward = Seconds(0.150);
  EXPECT_NEAR(passes(0).first, 0.030, 1e-12);
}

TEST_F(MeasuredJob, TheDeviceIsThatOfTheFirstWorkerOrTheNamedOne) {
  experiment_.workload.measured_step = Seconds(0.180);
  EXPECT_EQ(
      devices_line(),
      "devices of the workers: 1 x a100 (step of 32 samples 180 ms, measured), 1 x t4 (step of 32 samples "
      "433.3 ms, scaled from a100: not measured)");
  experiment_.workload.measured_on = "t4";
  EXPECT_NEAR(passes(1).first, 0.060, 1e-12);
  EXPECT_EQ(
      devices_line(),
      "devices of the workers: 1 x a100 (step of 32 samples 74.77 ms, scaled from t4: not measured), 1 x "
      "t4 (step of 32 samples 180 ms, measured)");
}

/// A profile of this model is the other measurement; one of another model, or for emulated devices, is none.
TEST_F(MeasuredJob, BesidesTimesOfAProfileIsRefused) {
  Profile profile;
  profile.paths = {{.from = "a100", .to = "a100", .messages = {}, .segments = {{0, 1e-4, 1e-8}}}};
  profile.compute.push_back({.model = "synthetic",
                             .kind = forward,
                             .bucket = -1,
                             .samples = 32,
                             .bytes = 0,
                             .median_s = 1e-3,
                             .spread = 0.0,
                             .raw_s = {1e-3}});
  experiment_.physics.profile = folder_.path().string() + "/profile.json";
  save_profile(experiment_.physics.profile, profile);
  experiment_.workload.measured_step = Seconds(0.180);
  EXPECT_NEAR(passes(0).first, 0.060, 1e-12) << "emulated devices do not use the profile";
  experiment_.run.devices = DeviceSpeed::native;
  try {
    job();
    FAIL();
  } catch (const KeyError& error) {
    EXPECT_EQ(error.key(), "workload.measured_step");
    EXPECT_NE(error.expected().find("has measured times of model 'synthetic'"), std::string::npos);
    EXPECT_EQ(error.found(), "0.18s");
  }
  profile.compute.front().model = "other";
  save_profile(experiment_.physics.profile, profile);
  EXPECT_NEAR(passes(0).first, 0.060, 1e-12);
}

}  // namespace TANDEM_FILE
}  // namespace tandem

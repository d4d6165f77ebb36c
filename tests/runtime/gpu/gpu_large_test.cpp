// Vectors of more than 2^31 elements on a real GPU: every kind of kernel processes the last element.
#include "runtime/gpu/cuda_device.hpp"
#include "tests/policies/compression/stretches.hpp"
#include "tests/runtime/gpu/tested_device.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace TANDEM_FILE {

constexpr std::int64_t many = (std::int64_t{1} << 31U) + 4099;
constexpr std::size_t needed_bytes = std::size_t{22} << 30U;

/// Needs 22 GiB of a GPU's memory.
class GpuLargeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const Gpus there = visible_gpus(); there.count == 0) GTEST_SKIP() << there.why_none;
    device_ = std::make_unique<CudaDevice>(0);
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess || free < needed_bytes)
      GTEST_SKIP() << "too little memory: " << free << " bytes are free";
    a_ = FloatArray(*device_, many);
    b_ = FloatArray(*device_, many);
  }
  float at(const FloatArray& array, std::int64_t index) {
    float value = 0.0F;
    copy_and_await(*device_, &value, array.data() + index, sizeof(value));
    return value;
  }
  void put(const FloatArray& array, std::int64_t index, float value) {
    copy_and_await(*device_, array.data() + index, &value, sizeof(value));
  }
  std::unique_ptr<compression::Codec> codec_of(const std::string& method,
                                               const std::map<std::string, OptionValue>& options = {}) {
    const compression::Shapes shapes = {{1, many - 100}, {1, 100}};
    return device_->make_codec(
        compression::catalog().find(method),
        {.stretch = compression::stretch_with(shapes), .options = compression::options_of(method, options)});
  }

  std::unique_ptr<CudaDevice> device_;
  FloatArray a_;
  FloatArray b_;
};

const std::vector<std::int64_t>& places() {
  static const std::vector<std::int64_t> all = {0,        1,       many / 2, (std::int64_t{1} << 31U) - 1,
                                                many - 2, many - 1};
  return all;
}

TEST_F(GpuLargeTest, ArithmeticAndCasts) {
  const DeviceArray<std::uint16_t> halves(*device_, many);
  // With equal and with different alignment.
  for (const std::int64_t start : {0, 1}) {
    const std::int64_t count = many - start;
    device_->fill(a_.data(), many, 1.0F);
    device_->fill(b_.data(), many, 3.0F);
    device_->add(a_.data(), b_.data() + start, count, 2.0F);
    device_->narrow(a_.data(), halves.data() + start, count, HalfFormat::bf16);
    device_->widen(halves.data() + start, b_.data(), count, HalfFormat::bf16);
    for (const std::int64_t place : places()) {
      if (place >= count) continue;
      EXPECT_EQ(at(a_, place), 7.0F) << place;
      EXPECT_EQ(at(b_, place), 7.0F) << place;
    }
  }
}

TEST_F(GpuLargeTest, TheLastNonFinite) {
  auto* const pinned = device_->allocate_pinned(sizeof(std::int64_t));
  const auto* const first = reinterpret_cast<const std::int64_t*>(pinned);
  for (const std::int64_t place : {many - 1, many - 2}) {
    put(a_, place, std::numeric_limits<float>::infinity());
    device_->find_non_finite(a_.data(), many, reinterpret_cast<std::int64_t*>(pinned));
    device_->finish();
    EXPECT_EQ(*first, place);
  }
  device_->release_pinned(pinned);
}

TEST_F(GpuLargeTest, Signs) {
  const auto codec = codec_of("sign");
  const DeviceArray<std::byte> message(*device_, static_cast<std::size_t>(codec->message_bytes()));
  device_->fill(a_.data(), many, 2.0F);
  for (const std::int64_t place : places()) put(a_, place, -2.0F);
  codec->encode(a_.span(), 0, message.span());
  codec->decode(message.span(), 0, b_.span());
  for (const std::int64_t place : places()) EXPECT_EQ(at(b_, place), -2.0F) << place;
  EXPECT_EQ(at(b_, many - 3), 2.0F);
}

TEST_F(GpuLargeTest, TheLargest) {
  const auto codec = codec_of("top-k", {{"ratio", 1e-6}});
  const DeviceArray<std::byte> message(*device_, static_cast<std::size_t>(codec->message_bytes()));
  device_->fill(a_.data(), many, 0.5F);
  float magnitude = 1.0F;
  for (const std::int64_t place : places()) put(a_, place, -(magnitude += 1.0F));
  codec->encode(a_.span(), 0, message.span());
  codec->decode(message.span(), 0, b_.span());
  magnitude = 1.0F;
  for (const std::int64_t place : places()) EXPECT_EQ(at(b_, place), -(magnitude += 1.0F)) << place;
  // Ties are resolved by index, up to the requested number.
  const std::int64_t chosen = codec->message_bytes() / 8;
  const std::int64_t first_left_out = chosen - static_cast<std::int64_t>(places().size()) + 2;
  EXPECT_EQ(at(b_, first_left_out - 1), 0.5F);
  EXPECT_EQ(at(b_, first_left_out), 0.0F);
  EXPECT_EQ(at(b_, many - 3), 0.0F);
}

// One value that is not zero is a matrix of rank 1, whose factors give it back, but for their rounding.
TEST_F(GpuLargeTest, ThePowerSgdOfALargeMatrix) {
  constexpr std::int64_t columns = 4096, rows = many / columns, last = rows * columns - 1;
  static_assert(last >= std::int64_t{1} << 31U);
  const auto codec =
      device_->make_codec(compression::catalog().find("power-sgd"),
                          {.stretch = compression::stretch_with({{rows, columns}}),
                           .options = compression::options_of("power-sgd", {{"rank", std::int64_t{1}}})});
  const DeviceArray<std::byte> message(*device_, static_cast<std::size_t>(codec->message_bytes()));
  device_->fill(a_.data(), many, 0.0F);
  device_->fill(b_.data(), many, 5.0F);
  put(a_, last, 2.0F);
  const auto elements = static_cast<std::size_t>(last + 1);
  codec->encode(a_.span().first(elements), 0, message.span());
  codec->decode(message.span(), 0, b_.span().first(elements));
  EXPECT_NEAR(at(b_, last), 2.0F, 1e-6F);
  EXPECT_EQ(at(b_, last - 1), 0.0F);
  EXPECT_EQ(at(b_, 0), 0.0F);
  EXPECT_EQ(at(b_, last + 1), 5.0F);
}

}  // namespace TANDEM_FILE
}  // namespace tandem

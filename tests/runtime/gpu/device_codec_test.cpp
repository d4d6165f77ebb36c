// Codecs of every device: their messages are byte by byte those of policies/compression, with error feedback
// too, at any starting address of vectors and messages.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "tests/policies/compression/stretches.hpp"
#include "tests/runtime/gpu/tested_device.hpp"
#include "tests/support/seeds.hpp"
#include "workloads/vectors/error_feedback.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace TANDEM_FILE {

using compression::Codec;
using compression::Shapes;
using Bytes8 = std::vector<std::uint8_t>;

struct Method {
  std::string name;
  std::map<std::string, OptionValue> options;
};

compression::Setting setting_of(const Method& method, const Shapes& shapes) {
  return {.stretch = compression::stretch_with(shapes),
          .options = compression::options_of(method.name, method.options)};
}

std::vector<Method> methods() {
  return {{"fp16", {}},
          {"bf16", {}},
          {"sign", {}},
          {"one-bit", {}},
          {"top-k", {{"ratio", 0.01}}},
          {"top-k", {{"ratio", 0.5}}},
          {"top-k", {{"ratio", 1.0}}},
          {"random-k", {{"ratio", 0.03}}},
          {"random-k", {{"ratio", 0.5}, {"error_feedback", false}}},
          {"power-sgd", {{"rank", std::int64_t{1}}}},
          {"qsgd", {}},
          {"qsgd", {{"levels", std::int64_t{1}}, {"bucket", std::int64_t{7}}}},
          {"qsgd", {{"levels", std::int64_t{32767}}, {"bucket", std::int64_t{1000}}}}};
}

/// Parts that begin anywhere within a byte, and one of several chunks.
Shapes random_shapes(Rng& random, std::uint64_t longest) {
  Shapes shapes;
  const auto parts = 1 + random.below(6);
  for (std::uint64_t part = 0; part < parts; ++part)
    shapes.push_back({static_cast<std::int64_t>(1 + random.below(3)),
                      static_cast<std::int64_t>(1 + random.below(part == 2 ? longest : 70))});
  return shapes;
}

/// Of messages, in bytes.
std::size_t alignment_of(const std::string& method) {
  if (method == "power-sgd") return sizeof(float);
  return method.ends_with("16") ? sizeof(std::uint16_t) : 1;
}

/// A codec of the device, with vectors in the device's memory.
class OnDevice {
 public:
  OnDevice(ComputeDevice& device, const Method& method, const Shapes& shapes, Rng& random)
      : device_(device),
        codec_(device.make_codec(compression::catalog().find(method.name), setting_of(method, shapes))),
        message_start_(random.below(4) * alignment_of(method.name)),
        values_start_(random.below(4)) {}

  Codec& codec() { return *codec_; }
  Bytes8 encoded(const std::vector<float>& values) {
    const Guarded<float> given(device_, values, values_start_);
    Guarded<std::uint8_t> message(device_, Bytes8(message_bytes()), message_start_);
    codec_->encode(given.span(), 0, std::as_writable_bytes(message.span()));
    return message.read();
  }
  std::vector<float> decoded(const Bytes8& bytes, std::size_t elements) {
    const Guarded<std::uint8_t> message(device_, bytes, message_start_);
    Guarded<float> values(device_, std::vector<float>(elements, -3.0F), values_start_);
    codec_->decode(std::as_bytes(message.span()), 0, values.span());
    return values.read();
  }
  /// The sum of these values and the message; nothing if the codec does not add.
  std::optional<std::vector<float>> added(const Bytes8& bytes, const std::vector<float>& values) {
    const Guarded<std::uint8_t> message(device_, bytes, message_start_);
    Guarded<float> sum(device_, values, values_start_);
    const bool adds = codec_->add_decoded(std::as_bytes(message.span()), 0, sum.span());
    const auto now = sum.read();
    if (adds) return now;
    expect_same(now, values);
    return std::nullopt;
  }
  std::size_t message_bytes() const { return static_cast<std::size_t>(codec_->message_bytes()); }

 private:
  ComputeDevice& device_;
  std::unique_ptr<Codec> codec_;
  std::size_t message_start_;
  std::size_t values_start_;
};

Bytes8 wanted_message(Codec& codec, std::span<const float> values, std::int64_t exchange = 0) {
  Bytes8 message(static_cast<std::size_t>(codec.message_bytes()));
  codec.encode(values, exchange, std::as_writable_bytes(std::span(message)));
  return message;
}
std::vector<float> wanted_values(Codec& codec, const Bytes8& message, std::size_t elements,
                                 std::int64_t exchange = 0) {
  std::vector<float> values(elements);
  codec.decode(std::as_bytes(std::span(message)), exchange, values);
  return values;
}

/// The same bytes; but a number that is NaN may be any NaN, since a GPU's has other bits than a processor's.
/// Numbers end where the message does.
void expect_same_message(Bytes8 found, const Bytes8& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  const auto is_nan_at = [](const Bytes8& bytes, std::size_t at) {
    float value = 0.0F;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return std::isnan(value);
  };
  for (std::size_t at = found.size() % sizeof(float); at < found.size(); at += sizeof(float))
    if (is_nan_at(found, at) && is_nan_at(wanted, at))
      std::copy_n(wanted.data() + at, sizeof(float), found.data() + at);
  EXPECT_EQ(found, wanted);
}

std::vector<float> with_ties(std::vector<float> values, Rng& random) {
  for (float& value : values)
    if (random.below(2) == 0) value = random.below(2) == 0 ? 0.25F : -0.25F;
  return values;
}

void test_messages(ComputeDevice& device, const Method& method, const Shapes& shapes,
                   const std::vector<float>& values, Rng& random) {
  SCOPED_TRACE(method.name + " of " + std::to_string(values.size()));
  const auto twin = compression::catalog().find(method.name).make.make(setting_of(method, shapes));
  OnDevice own(device, method, shapes, random);
  ASSERT_EQ(own.codec().message_bytes(), twin->message_bytes());
  const Bytes8 wanted = wanted_message(*twin, values);
  expect_same_message(own.encoded(values), wanted);
  const auto decoded = wanted_values(*twin, wanted, values.size());
  expect_same(own.decoded(wanted, values.size()), decoded);
  std::vector<float> sum(values);
  for (float& value : sum) value += 0.0F;  // none is -0
  const auto added = own.added(wanted, sum);
  if (!added) return;
  for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += decoded[at];
  expect_same(*added, sum);
}

/// Whether an all-reduce gathers the messages of a method.
bool is_gathered(const std::string& method) {
  return compression::catalog().find(method).make.sharing == compression::Sharing::gathered;
}

class DeviceCodecTest : public DeviceTest {};

TEST_P(DeviceCodecTest, MessagesEqualThoseOfThePolicies) {
  for (const auto seed : testing::seeds(6)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const Shapes shapes = random_shapes(random, seed % 3 == 0 ? 20000 : 900);
    const auto elements = static_cast<std::size_t>(compression::stretch_with(shapes).elements);
    const auto values = mixed_values(elements, random);
    for (const Method& method : methods()) {
      test_messages(device(), method, shapes, values, random);
      test_messages(device(), method, shapes, with_ties(values, random), random);
    }
  }
}

TEST_P(DeviceCodecTest, AGpuAddsGatheredMessagesToTheirSum) {
  if (device().is_host()) GTEST_SKIP() << "a processor may decode first";
  Rng random(2);
  for (const Method& method : methods()) {
    if (!is_gathered(method.name)) continue;
    OnDevice own(device(), method, {{1, 50}}, random);
    EXPECT_TRUE(own.added(own.encoded(mixed_values(50, random)), std::vector<float>(50))) << method.name;
  }
}

TEST_P(DeviceCodecTest, QsgdOfInfiniteValuesAndOfEachExchange) {
  Rng random(4);
  const Method method{"qsgd", {}};
  const Shapes shapes = {{1, 1000}};
  test_messages(device(), method, shapes, any_floats(1000, random), random);
  const auto values = mixed_values(1000, random);
  const auto twin = compression::catalog().find("qsgd").make.make(setting_of(method, shapes));
  const auto codec = device().make_codec(compression::catalog().find("qsgd"), setting_of(method, shapes));
  const Guarded<float> given(device(), values);
  Guarded<std::uint8_t> message(device(), Bytes8(static_cast<std::size_t>(codec->message_bytes())));
  for (const std::int64_t exchange : {std::int64_t{1}, (std::int64_t{1} << 32) + 5}) {
    codec->encode(given.span(), exchange, std::as_writable_bytes(message.span()));
    expect_same_message(message.read(), wanted_message(*twin, values, exchange));
  }
}

// The indices of the next exchange must not overwrite those that a copy still reads.
TEST_P(DeviceCodecTest, RandomKDrawsForEachExchange) {
  Rng random(5);
  const Method method{"random-k", {{"ratio", 0.2}}};
  const Shapes shapes = {{1, 900}};
  const auto values = mixed_values(900, random);
  const auto twin = compression::catalog().find("random-k").make.make(setting_of(method, shapes));
  const auto codec = device().make_codec(compression::catalog().find("random-k"), setting_of(method, shapes));
  const Guarded<float> given(device(), values);
  const auto bytes = static_cast<std::size_t>(codec->message_bytes());
  std::vector<Guarded<std::uint8_t>> messages;
  for (int exchange = 0; exchange < 6; ++exchange) {
    messages.emplace_back(device(), Bytes8(bytes));
    codec->encode(given.span(), exchange, std::as_writable_bytes(messages.back().span()));
  }
  for (int exchange = 0; exchange < 6; ++exchange)
    EXPECT_EQ(messages[static_cast<std::size_t>(exchange)].read(), wanted_message(*twin, values, exchange));
}

TEST_P(DeviceCodecTest, TopKOfEqualAndOfNonFiniteValues) {
  for (const auto seed : testing::seeds(3)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const auto elements = static_cast<std::size_t>(1 + random.below(9000));
    const Shapes shapes = {{1, static_cast<std::int64_t>(elements)}};
    for (const double ratio : {1e-6, 0.1, 0.9}) {
      const Method method{"top-k", {{"ratio", ratio}}};
      test_messages(device(), method, shapes, std::vector<float>(elements, 0.0F), random);
      test_messages(device(), method, shapes, std::vector<float>(elements, -2.5F), random);
      test_messages(device(), method, shapes, any_floats(elements, random), random);
    }
  }
}

// Some tiles have many magnitudes near the threshold, which differ only in the last bits; others have only
// larger or only smaller ones.
TEST_P(DeviceCodecTest, TopKOfMagnitudesCloseToEachOther) {
  for (const auto seed : testing::seeds(3)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const auto elements = static_cast<std::size_t>(20000 + random.below(9000));
    std::vector<float> values(elements);
    for (std::size_t at = 0; at < elements; ++at) {
      const auto close = 0x3f800000U + static_cast<std::uint32_t>(random.below(512));
      const float others[] = {std::bit_cast<float>(close), 2.0F, 0.5F};
      values[at] = others[at / 4096 % 3] * (random.below(2) == 0 ? 1.0F : -1.0F);
    }
    const Shapes shapes = {{1, static_cast<std::int64_t>(elements)}};
    for (const double ratio : {0.4, 0.5, 0.6})
      test_messages(device(), {"top-k", {{"ratio", ratio}}}, shapes, values, random);
  }
}

TEST_P(DeviceCodecTest, EmptyAndShortStretches) {
  Rng random(1);
  for (const Method& method : methods()) {
    test_messages(device(), method, {}, {}, random);
    for (const std::size_t elements : {1U, 2U, 3U, 7U, 8U, 9U, 31U, 32U, 33U}) {
      const auto columns = static_cast<std::int64_t>(elements);
      test_messages(device(), method, {{1, columns}}, mixed_values(elements, random), random);
    }
  }
}

// More tiles and chunks than a small device has blocks, so that each block takes several.
TEST_P(DeviceCodecTest, EachBlockTakesSeveralTiles) {
  Rng random(1);
  const Shapes shapes = {{1, 5}, {7, 80001}, {1, 300}};
  const auto elements = static_cast<std::size_t>(compression::stretch_with(shapes).elements);
  const auto values = with_ties(mixed_values(elements, random), random);
  for (const Method& method : methods())
    if (!method.options.contains("ratio") || std::get<double>(method.options.at("ratio")) == 0.5)
      test_messages(device(), method, shapes, values, random);
}

/// Expected error feedback, computed in separate steps by the policies' codec on the host.
class WantedFeedback {
 public:
  WantedFeedback(const Method& method, const Shapes& shapes)
      : twin_(compression::catalog().find(method.name).make.make(setting_of(method, shapes))) {}
  void exchange(const std::vector<float>& values) {
    message = wanted_message(*twin_, feedback_.add(values), exchange_);
    sent = wanted_values(*twin_, message, values.size(), exchange_++);
    feedback_.subtract(sent);
  }
  void take_back() { feedback_.take_back(); }
  std::vector<float> unsent() const { return {feedback_.unsent().begin(), feedback_.unsent().end()}; }
  Bytes8 message;
  std::vector<float> sent;

 private:
  std::unique_ptr<Codec> twin_;
  std::int64_t exchange_ = 0;
  compression::ErrorFeedback feedback_{host_device(), true};
};

/// The values of an exchange; in the last exchange some are infinite, and the unsent rest must show that.
std::vector<float> values_of_exchange(std::size_t elements, bool is_last, Rng& random) {
  auto values = with_ties(mixed_values(elements, random), random);
  if (is_last)
    for (float& value : values)
      if (random.below(40) == 0) value = std::copysign(std::numeric_limits<float>::infinity(), value);
  return values;
}

/// Tests encoding fused with error feedback, on vectors with any starting element.
void test_encoding_with_memory(ComputeDevice& device, const Method& method, const Shapes& shapes,
                               Rng& random) {
  SCOPED_TRACE(method.name);
  const auto elements = static_cast<std::size_t>(compression::stretch_with(shapes).elements);
  WantedFeedback wanted(method, shapes);
  const auto codec = device.make_codec(compression::catalog().find(method.name), setting_of(method, shapes));
  const std::size_t start = random.below(4);
  Guarded<float> unsent(device, std::vector<float>(elements), start);
  Guarded<std::uint8_t> message(device, Bytes8(static_cast<std::size_t>(codec->message_bytes())), start);
  for (int exchange = 0; exchange < 4; ++exchange) {
    const auto values = values_of_exchange(elements, exchange == 3, random);
    wanted.exchange(values);
    Guarded<float> given(device, values, start);
    ASSERT_TRUE(codec->encode_with_memory(given.span(), unsent.span(), exchange,
                                          std::as_writable_bytes(message.span())));
    expect_same_message(message.read(), wanted.message);
    expect_same(unsent.read(), wanted.unsent());
    expect_same(given.read(), values);
  }
}

std::vector<float> read_floats(ComputeDevice& device, std::span<const float> from) {
  HostCopy<float> host(device);
  const std::span<float> values = host.of(from.size());
  copy_and_await(device, values.data(), from.data(), from.size_bytes());
  return {values.begin(), values.end()};
}

/// Uses error feedback like the roles. The sent values overwrite the values, or go to a separate vector.
void test_feedback(ComputeDevice& device, const Method& method, const Shapes& shapes, bool in_place,
                   Rng& random) {
  SCOPED_TRACE(method.name + (in_place ? ", in place" : ""));
  const auto elements = static_cast<std::size_t>(compression::stretch_with(shapes).elements);
  WantedFeedback wanted(method, shapes);
  const auto codec = device.make_codec(compression::catalog().find(method.name), setting_of(method, shapes));
  std::optional<compression::ErrorFeedback> feedback(std::in_place, device, true);
  Guarded<float> apart(device, std::vector<float>(elements));
  Guarded<std::uint8_t> message(device, Bytes8(static_cast<std::size_t>(codec->message_bytes())));
  for (int exchange = 0; exchange < 5; ++exchange) {
    const auto values = values_of_exchange(elements, exchange == 4, random);
    wanted.exchange(values);
    Guarded<float> given(device, values, random.below(4));
    Guarded<float>& sent = in_place ? given : apart;
    compression::encode(*codec, feedback, given.span(), exchange, std::as_writable_bytes(message.span()),
                        sent.span());
    expect_same_message(message.read(), wanted.message);
    expect_same(sent.read(), wanted.sent);
    if (!in_place) expect_same(given.read(), values);
    expect_same(read_floats(device, feedback->unsent()), wanted.unsent());
    if (exchange == 1) {
      wanted.take_back();
      feedback->take_back();
      expect_same(read_floats(device, feedback->unsent()), wanted.unsent());
    }
  }
}

TEST_P(DeviceCodecTest, TopKEncodesWithMemory) {
  for (const auto seed : testing::seeds(3)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    for (const double ratio : {1e-6, 0.01, 0.5, 1.0}) {
      const Method method{"top-k", {{"ratio", ratio}}};
      test_encoding_with_memory(device(), method, random_shapes(random, 5000), random);
      test_encoding_with_memory(device(), method, {}, random);
    }
  }
}

TEST_P(DeviceCodecTest, CodecsWithoutFusedErrorFeedbackChangeNothing) {
  const Shapes shapes = {{3, 40}};
  for (const auto& entry : compression::catalog().entries()) {
    if (entry.make.make == nullptr || entry.name == "top-k") continue;
    const auto codec = device().make_codec(entry, setting_of({entry.name, {}}, shapes));
    if (!codec || codec->memory_vectors() > 1) continue;
    SCOPED_TRACE(entry.name);
    const Guarded<float> values(device(), std::vector<float>(120, 1.5F));
    Guarded<float> unsent(device(), std::vector<float>(120, -0.25F));
    const Bytes8 before(static_cast<std::size_t>(codec->message_bytes()), 9);
    Guarded<std::uint8_t> message(device(), before);
    EXPECT_FALSE(
        codec->encode_with_memory(values.span(), unsent.span(), 0, std::as_writable_bytes(message.span())));
    EXPECT_EQ(unsent.read(), std::vector<float>(120, -0.25F));
    EXPECT_EQ(message.read(), before);
  }
}

TEST_P(DeviceCodecTest, ErrorFeedbackEqualsTheSeparateSteps) {
  for (const auto seed : testing::seeds(2)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    for (const Method& method : methods())
      for (const bool in_place : {false, true})
        test_feedback(device(), method, random_shapes(random, 5000), in_place, random);
  }
}

// The codec's input is queued immediately before it, and the other queue does not wait for it.
TEST_P(DeviceCodecTest, CodecsWorkInTheQueueInUse) {
  for (const auto seed : testing::seeds(4)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const SecondQueue second_queue(device());
    for (const Method& method : methods()) {
      const Shapes shapes = random_shapes(random, 5000);
      test_messages(
          device(), method, shapes,
          mixed_values(static_cast<std::size_t>(compression::stretch_with(shapes).elements), random), random);
      test_feedback(device(), method, shapes, /*in_place=*/true, random);
    }
  }
}

TEST_P(DeviceCodecTest, WithoutErrorFeedbackValuesAreUnchanged) {
  Rng random(1);
  const Method method{"top-k", {{"ratio", 0.1}}};
  const Shapes shapes = {{5, 60}};
  const auto values = mixed_values(300, random);
  const auto twin = compression::catalog().find("top-k").make.make(setting_of(method, shapes));
  const auto codec = device().make_codec(compression::catalog().find("top-k"), setting_of(method, shapes));
  std::optional<compression::ErrorFeedback> none;
  Guarded<float> given(device(), values);
  Guarded<std::uint8_t> message(device(), Bytes8(static_cast<std::size_t>(codec->message_bytes())));
  compression::encode(*codec, none, given.span(), 0, std::as_writable_bytes(message.span()), given.span());
  EXPECT_EQ(message.read(), wanted_message(*twin, values));
  expect_same(given.read(), values);
}

TEST_P(DeviceCodecTest, TheHostHasEveryMethodAndAGpuASubset) {
  const Shapes shapes = {{3, 4}};
  for (const auto& entry : compression::catalog().entries()) {
    if (entry.make.make == nullptr) continue;
    const auto all = methods();
    const bool is_known =
        std::any_of(all.begin(), all.end(), [&](const Method& method) { return method.name == entry.name; });
    const auto codec = device().make_codec(entry, setting_of({entry.name, {}}, shapes));
    EXPECT_EQ(codec != nullptr, is_known || device().is_host()) << entry.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, DeviceCodecTest, ::testing::ValuesIn(tested_devices()), name_of_device);

}  // namespace TANDEM_FILE
}  // namespace tandem

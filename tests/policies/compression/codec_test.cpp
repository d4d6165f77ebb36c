// Properties of every compression of the catalogue: lengths, sizes, conservation with error feedback, sums,
// determinism, and detection of non-finite values.
#include "policies/compression/codec.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "tests/policies/compression/stretches.hpp"
#include "tests/support/names.hpp"
#include "tests/support/seeds.hpp"
#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/error_feedback.hpp"

namespace tandem::compression {
namespace TANDEM_FILE {

class Compressions : public ::testing::TestWithParam<std::string> {
 protected:
  const Factory& factory() const { return catalog().find(GetParam()).make; }
  bool has_option(const std::string& name) const { return options_of(GetParam()).values().contains(name); }
};
INSTANTIATE_TEST_SUITE_P(All, Compressions, ::testing::ValuesIn(methods()), testing::catalog_name);

const std::vector<Shapes>& all_shapes() {
  static const std::vector<Shapes> shapes = {
      {},         {{1, 1}}, {{1, 2}}, {{1, 127}}, {{7, 13}}, {{1, 5}, {30, 17}, {1, 17}}, {{64, 64}, {1, 64}},
      {{1, 1000}}};
  return shapes;
}

TEST_P(Compressions, TakeEverySizeAndFillEveryElement) {
  for (const Shapes& shapes : all_shapes())
    for (const auto seed : testing::seeds(5)) {
      TANDEM_TRACE_SEED(seed);
      Rng random(seed);
      const auto codec = make(GetParam(), shapes);
      const auto values = random_values(stretch_with(shapes).elements, random);
      for (const float value : sent(*codec, values)) {
        ASSERT_TRUE(std::isfinite(value));
        ASSERT_NE(value, -77.0F) << "an element was not written";
      }
      EXPECT_LE(codec->message_bytes(), 4 * std::ssize(values) + 16);
    }
}

TEST_P(Compressions, AreDeterministic) {
  Rng random(3);
  const Shapes shapes = {{20, 30}, {1, 30}};
  const auto one = make(GetParam(), shapes), other = make(GetParam(), shapes);
  for (int exchange = 0; exchange < 4; ++exchange) {
    const auto values = random_values(630, random);
    EXPECT_EQ(encoded(*one, values, exchange), encoded(*other, values, exchange));
  }
}

TEST_P(Compressions, EncodeZerosAsZeros) {
  const auto codec = make(GetParam(), {{20, 30}, {1, 30}});
  for (int exchange = 0; exchange < 2; ++exchange)
    for (const float value : sent(*codec, std::vector<float>(630), exchange)) EXPECT_EQ(value, 0.0F);
  // Values that come after zeros are not lost.
  Rng random(4);
  const auto values = random_values(630, random);
  EXPECT_GT(square(sent(*codec, values, 2)), 0.0);
}

/// Sum of sent values + values still unsent = sum of the inputs.
TEST_P(Compressions, WithErrorFeedbackLoseNothing) {
  if (!has_option("error_feedback")) return;
  const Shapes shapes = {{12, 25}, {1, 25}};
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const auto codec = make(GetParam(), shapes, {{"error_feedback", true}});
    ErrorFeedback feedback(host_device());
    std::vector<double> balance(325);
    for (int exchange = 0; exchange < 50; ++exchange) {
      const auto values = random_values(325, random);
      const auto to_send = feedback.add(values);
      const auto gone = sent(*codec, {to_send.begin(), to_send.end()}, exchange);
      feedback.subtract(gone);
      for (std::size_t i = 0; i < balance.size(); ++i)
        balance[i] += static_cast<double>(values[i]) - static_cast<double>(gone[i]);
    }
    for (std::size_t i = 0; i < balance.size(); ++i)
      ASSERT_NEAR(balance[i], static_cast<double>(feedback.unsent()[i]), 1e-4) << i;
  }
}

TEST(ErrorFeedback, TakesBackTheLastAddition) {
  ErrorFeedback feedback(host_device(), true);
  const auto push = [&](const std::vector<float>& values, const std::vector<float>& sent) {
    feedback.add(values);
    feedback.subtract(sent);
  };
  const auto unsent = [&] { return std::vector(feedback.unsent().begin(), feedback.unsent().end()); };
  push({1, 2, 4}, {0, 0, 4});
  feedback.take_back();
  EXPECT_EQ(unsent(), (std::vector<float>{0, 0, 0})) << "nothing was unsent before the first push";
  push({1, 2, 4}, {0, 0, 4});
  push({8, 8, 8}, {9, 0, 0});
  EXPECT_EQ(unsent(), (std::vector<float>{0, 10, 8}));
  feedback.take_back();
  EXPECT_EQ(unsent(), (std::vector<float>{1, 2, 0}));
  push({1, 1, 1}, {0, 3, 0});
  EXPECT_EQ(unsent(), (std::vector<float>{2, 0, 1}));
}

/// Otherwise the unsent values would grow without bound (Stich et al. 2018).
TEST_P(Compressions, WithErrorFeedbackKeepBoundedErrors) {
  if (!has_option("error_feedback")) return;
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const auto codec = make(GetParam(), {{12, 25}, {1, 25}}, {{"error_feedback", true}});
    auto rest = random_values(325, random);
    const double before = square(rest);
    const auto gone = sent(*codec, rest);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= gone[i];
    EXPECT_LT(square(rest), before);
  }
}

TEST_P(Compressions, ShowNonFiniteValues) {
  for (const float strange :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    if (GetParam() == "random-k") return;  // it does not see values that it does not choose
    Rng random(5);
    auto values = random_values(630, random);
    values[100] = strange;
    const auto codec = make(GetParam(), {{20, 30}, {1, 30}});
    bool seen = false;
    for (const float value : sent(*codec, values)) seen = seen || !std::isfinite(value);
    EXPECT_TRUE(seen);
  }
}

TEST_P(Compressions, HaveTheStatedMemory) {
  EXPECT_EQ(make(GetParam(), {{20, 30}})->memory_vectors(), factory().memory_vectors);
}

TEST_P(Compressions, SumsOfMessagesDecodeToTheSum) {
  if (factory().sharing != Sharing::summed) return;
  Rng random(6);
  const Shapes shapes = {{20, 30}, {1, 30}};
  const auto first = make(GetParam(), shapes, {}, 0), second = make(GetParam(), shapes, {}, 1);
  for (int exchange = 0; exchange < 3; ++exchange) {
    const auto a = random_values(630, random), b = random_values(630, random);
    auto message = encoded(*first, a, exchange);
    const auto other = encoded(*second, b, exchange);
    const auto& element = *factory().element;
    ASSERT_EQ(std::ssize(message) % element.bytes, 0);
    add_elements(host_device(), element, message.data(), other.data(), std::ssize(message) / element.bytes);
    const auto sum = decoded(*first, message, 630, exchange);
    const auto ours = sent(*first, a, exchange), theirs = sent(*second, b, exchange);
    for (std::size_t i = 0; i < sum.size(); ++i)
      EXPECT_NEAR(sum[i], ours[i] + theirs[i], std::abs(ours[i] + theirs[i]) * 0x1.0p-8F);
  }
}

TEST(CompressionCatalog, NamesEachOnceWithPaperAndCost) {
  std::set<std::string> names;
  for (const auto& entry : catalog().entries()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    if (entry.make.make == nullptr) continue;
    EXPECT_FALSE(entry.paper.empty()) << entry.name;
    const Efforts efforts = entry.make.efforts(options_of(entry.name));
    EXPECT_GT(efforts.compress.bytes, 0.0) << entry.name;
    EXPECT_GT(efforts.decompress.bytes, 0.0) << entry.name;
    EXPECT_EQ(entry.make.sharing == Sharing::summed, entry.make.element != nullptr) << entry.name;
    EXPECT_EQ(entry.make.sharing == Sharing::factored, entry.make.make_factors != nullptr) << entry.name;
  }
  EXPECT_EQ(names.count("none"), 1U);
}

TEST(CompressionCatalog, DescribesAMethodWithItsOptions) {
  EXPECT_EQ(describe("top-k", options_of("top-k", {{"ratio", 0.5}})),
            "top-k (error_feedback true, ratio 0.5)");
  EXPECT_EQ(describe("none", options_of("none")), "none");
}

struct Length {
  std::string method;
  std::map<std::string, OptionValue> options;
  Shapes shapes;
  std::int64_t bytes;
};

/// Section 4.6 of the reference: bytes for an fp32 tensor of d elements.
TEST(CompressionLengths, AreThoseOfTheTable) {
  const Shapes vector = {{1, 1000}}, matrix = {{100, 80}};
  const std::vector<Length> lengths = {
      {"fp16", {}, vector, 2 * 1000},
      {"bf16", {}, vector, 2 * 1000},
      {"top-k", {{"ratio", 0.01}}, vector, 8 * 10},
      {"top-k", {{"ratio", 0.0001}}, vector, 8},
      {"top-k", {{"ratio", 1.0}}, vector, 8 * 1000},
      {"dgc", {}, vector, 8},
      {"dgc", {{"ratio", 0.01}}, vector, 8 * 10},
      {"dgc", {{"warm_up", std::int64_t{8}}}, vector, 4 + 8 * 250},  // the longest
      {"random-k", {{"ratio", 0.01}}, vector, 4 * 10},
      {"sign", {}, vector, 1000 / 8 + 4},
      {"sign", {}, {{1, 9}}, 2 + 4},
      {"sign", {{"magnitude", std::string("one")}}, {{1, 9}}, 2},
      {"one-bit", {}, vector, 1000 / 8 + 8},
      {"one-bit", {}, {{10, 10}, {1, 10}}, 14 + 2 * 8},
      {"qsgd", {{"levels", std::int64_t{4}}}, vector, 1000 * 4 / 8 + 4 * 8},  // 9 values in 4 bits
      {"qsgd", {{"levels", std::int64_t{1}}}, vector, 1000 * 2 / 8 + 4 * 8},  // 3 values in 2 bits
      {"qsgd", {{"levels", std::int64_t{127}}}, vector, 1000 + 4 * 8},        // 255 values in 8 bits
      {"qsgd", {{"bucket", std::int64_t{1000}}}, vector, 1000 * 4 / 8 + 4},
      {"terngrad", {}, vector, 1000 / 4 + 4},
      {"terngrad", {}, {{1, 9}, {1, 2}}, 3 + 2 * 4},
      {"two-bit", {}, vector, 1000 / 4},
      {"power-sgd", {{"rank", std::int64_t{2}}}, matrix, 4 * 2 * (100 + 80)},
      {"power-sgd", {{"rank", std::int64_t{2}}}, {{100, 80}, {1, 80}}, 4 * 2 * (100 + 80) + 4 * 80},
      {"power-sgd", {{"rank", std::int64_t{44}}}, matrix, 4 * 44 * (100 + 80)},
      {"power-sgd", {{"rank", std::int64_t{80}}}, matrix, 4 * 100 * 80}};  // not smaller: sent uncompressed
  for (const auto& length : lengths)
    EXPECT_EQ(make(length.method, length.shapes, length.options)->message_bytes(), length.bytes)
        << length.method;
}

/// Signs and exponents of normal values have about 4 bits of information, of 9; their other 23 bits are
/// noise.
TEST(Lossless, PacksWhatIsAlikeAndKeepsEveryBit) {
  Rng random(11);
  const Shapes shapes = {{64, 64}, {1, 64}};
  const auto codec = make("lossless", shapes);
  const auto elements = stretch_with(shapes).elements;
  std::vector<float> normal, same(static_cast<std::size_t>(elements), 0.1F), noise;
  for (std::int64_t i = 0; i < elements; ++i) {
    normal.push_back(static_cast<float>(random.normal()));
    noise.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.next() >> 32U)));
  }
  const auto length_of = [&](const std::vector<float>& values) {
    const auto message = encoded(*codec, values, 0);
    const auto back = sent(*codec, values);
    EXPECT_EQ(std::memcmp(back.data(), values.data(), values.size() * sizeof(float)), 0);
    return static_cast<double>(codec->bytes_of(message)) / static_cast<double>(4 * elements);
  };
  EXPECT_NEAR(length_of(normal), 0.85, 0.03);
  EXPECT_LT(length_of(same), 0.01);
  EXPECT_EQ(length_of(noise), 1.0 + 4.0 / static_cast<double>(elements)) << "as it is, after its lengths";
  EXPECT_EQ(codec->expected_bytes(), 16 + 13980) << "0.84 of 4 x 4,160 bytes, in whole floats";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::compression

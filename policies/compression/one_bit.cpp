// 1-bit SGD (Seide, Fu, Droppo, Li, Yu, Interspeech 2014). A message has one bit per element. Each element
// becomes the mean of the elements of its tensor that have the same sign.
#include <algorithm>
#include <array>
#include <cmath>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

class OneBit final : public Codec {
 public:
  explicit OneBit(const Setting& setting) : stretch_(setting.stretch) {}

  std::int64_t message_bytes() const override {
    return sign_bytes() + static_cast<std::int64_t>(2 * stretch_.parts.size() * sizeof(float));
  }

  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), stretch_.elements, message.size(), message_bytes());
    const auto means = message.subspan(static_cast<std::size_t>(sign_bytes()));
    BitWriter signs(message, 1);
    for (std::size_t part = 0; part < stretch_.parts.size(); ++part) {
      std::array<double, 2> sums{};
      std::array<std::int64_t, 2> counts{};
      for (const float value : elements_of(stretch_.parts[part], values)) {
        const std::uint32_t negative = std::signbit(value) ? 1 : 0;
        sums[negative] += static_cast<double>(value);
        ++counts[negative];
        signs.put(negative);
      }
      for (std::size_t side = 0; side < sums.size(); ++side) {
        const auto count = static_cast<double>(std::max<std::int64_t>(1, counts[side]));
        put(means, 2 * part + side, static_cast<float>(sums[side] / count));
      }
    }
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), stretch_.elements, message.size(), message_bytes());
    const auto means = message.subspan(static_cast<std::size_t>(sign_bytes()));
    BitReader signs(message, 1);
    for (std::size_t part = 0; part < stretch_.parts.size(); ++part) {
      const std::array<float, 2> side = {get<float>(means, 2 * part), get<float>(means, 2 * part + 1)};
      for (float& value : elements_of(stretch_.parts[part], values)) value = side[signs.get()];
    }
  }

 private:
  std::int64_t sign_bytes() const { return packed_bytes(stretch_.elements, 1); }

  Stretch stretch_;
};

Efforts one_bit_efforts(const Options& options) {
  constexpr double width = sizeof(float) + 0.125;
  return {{width + feedback_bytes(options), 4.0, 2}, {width, 2.0}};
}

}  // namespace

Entry one_bit() {
  return {.name = "one-bit",
          .summary =
              "the sign of each element, and per tensor the means of its positive and negative elements; "
              "uses an all-gather",
          .paper =
              "Seide, Fu, Droppo, Li, Yu: 1-Bit Stochastic Gradient Descent and its Application to "
              "Data-Parallel Distributed Training of Speech DNNs. Interspeech 2014",
          .options = {error_feedback_option(true)},
          .make = {.sharing = Sharing::gathered, .make = make_codec<OneBit>, .efforts = one_bit_efforts}};
}

}  // namespace tandem::compression

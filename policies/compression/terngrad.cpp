// TernGrad (Wen, Xu, Yan, Wu, Wang, Chen, Li, NeurIPS 2017). Each element becomes 0 or plus or minus the
// largest magnitude of its tensor, at random, so that its expected value is the element. Elements far from
// the mean are clipped before, which makes that magnitude, and so the variance, smaller.
#include <algorithm>
#include <cmath>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"
#include "policies/vocabulary/indexed_random.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::compression {
namespace {

constexpr int bits_of_ternary = 2;

class TernGrad final : public Codec {
 public:
  explicit TernGrad(const Setting& setting)
      : stretch_(setting.stretch),
        clip_(setting.options.real("clip")),
        seed_(Rng::stream(
                  Rng::stream(setting.seed, "terngrad", static_cast<std::uint64_t>(setting.worker)).next(),
                  "stretch", static_cast<std::uint64_t>(setting.stretch.position))
                  .next()) {}

  std::int64_t message_bytes() const override {
    return codes_bytes() + static_cast<std::int64_t>(stretch_.parts.size() * sizeof(float));
  }

  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    check_sizes(values.size(), stretch_.elements, message.size(), message_bytes());
    const auto scales = message.subspan(static_cast<std::size_t>(codes_bytes()));
    const std::uint64_t seed = Rng::stream(seed_, "exchange", static_cast<std::uint64_t>(exchange)).next();
    std::uint64_t index = 0;
    BitWriter codes(message, bits_of_ternary);
    for (std::size_t part = 0; part < stretch_.parts.size(); ++part) {
      const auto own = elements_of(stretch_.parts[part], values);
      const float scale = scale_of(own);
      put(scales, part, scale);
      for (const float value : own) codes.put(code_of(value, scale, indexed_uniform(seed, index++)));
    }
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), stretch_.elements, message.size(), message_bytes());
    const auto scales = message.subspan(static_cast<std::size_t>(codes_bytes()));
    BitReader codes(message, bits_of_ternary);
    for (std::size_t part = 0; part < stretch_.parts.size(); ++part) {
      const auto scale = get<float>(scales, part);
      for (float& value : elements_of(stretch_.parts[part], values))
        value = (static_cast<float>(codes.get()) - 1.0F) * scale;
    }
  }

 private:
  std::int64_t codes_bytes() const { return packed_bytes(stretch_.elements, bits_of_ternary); }

  /// The largest magnitude after clipping. A value that is not finite is sent as it is, and so detected.
  float scale_of(std::span<const float> values) const {
    double sum = 0.0, squares = 0.0;
    float largest = 0.0F;
    for (const float value : values) {
      if (!std::isfinite(value)) return value;
      largest = std::max(largest, std::abs(value));
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    if (clip_ == 0.0) return largest;
    const auto count = static_cast<double>(values.size());
    const double variance = std::max(0.0, squares / count - sum / count * (sum / count));
    // Where all elements are alike, none is far from the mean.
    return variance > 0.0 ? std::min(largest, static_cast<float>(clip_ * std::sqrt(variance))) : largest;
  }

  /// 0: minus the scale, 1: zero, 2: the scale.
  static std::uint32_t code_of(float value, float scale, double drawn) {
    if (!(scale > 0.0F) || !std::isfinite(scale)) return 1;
    const double share = std::min(1.0, std::abs(static_cast<double>(value)) / static_cast<double>(scale));
    if (drawn >= share) return 1;
    return std::signbit(value) ? 0 : 2;
  }

  Stretch stretch_;
  double clip_;
  std::uint64_t seed_;
};

Efforts terngrad_efforts(const Options&) {
  constexpr double width = sizeof(float) + 0.25;
  constexpr double flops_of_draw = 20.0;
  return {{width + sizeof(float), flops_of_draw + 8.0, 2}, {width, 2.0}};
}

}  // namespace

Entry terngrad() {
  return {
      .name = "terngrad",
      .summary =
          "each element as minus, zero or plus the largest magnitude of its tensor, at random and unbiased "
          "but for clipping; uses an all-gather",
      .paper =
          "Wen et al.: TernGrad: Ternary Gradients to Reduce Communication in Distributed Deep Learning. "
          "NeurIPS 2017",
      .options = {{.name = "clip",
                   .summary = "magnitudes are clipped at so many standard deviations of their tensor; 0: "
                              "they are not",
                   .default_value = 2.5,
                   .minimum = 0.0}},
      .make = {.sharing = Sharing::gathered,
               .make = make_codec<TernGrad>,
               .efforts = terngrad_efforts,
               .may_err_widely = [](const Options&) { return true; }}};
}

}  // namespace tandem::compression

// MXNet's 2-bit compression. An element that has reached a threshold is sent as plus or minus the threshold,
// any other one as zero; error feedback keeps the rest.
#include <cmath>
#include <limits>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

constexpr int bits_of_step = 2;

class TwoBit final : public Codec {
 public:
  explicit TwoBit(const Setting& setting)
      : elements_(setting.stretch.elements),
        threshold_(static_cast<float>(setting.options.real("threshold"))) {}

  std::int64_t message_bytes() const override { return packed_bytes(elements_, bits_of_step); }

  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    BitWriter codes(message, bits_of_step);
    for (const float value : values) codes.put(code_of(value));
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    const float decoded[] = {0.0F, threshold_, -threshold_, std::numeric_limits<float>::quiet_NaN()};
    BitReader codes(message, bits_of_step);
    for (float& value : values) value = decoded[codes.get()];
  }

 private:
  /// The last code shows a value that is not finite.
  std::uint32_t code_of(float value) const {
    if (!std::isfinite(value)) return 3;
    if (value >= threshold_) return 1;
    return value <= -threshold_ ? 2 : 0;
  }

  std::int64_t elements_;
  float threshold_;
};

Efforts two_bit_efforts(const Options& options) {
  constexpr double width = sizeof(float) + 0.25;
  return {{width + feedback_bytes(options), 3.0}, {width, 2.0}};
}

}  // namespace

Entry two_bit() {
  return {
      .name = "two-bit",
      .summary =
          "plus or minus a threshold for each element that has reached it, zero for the others; uses an "
          "all-gather",
      .paper = "Apache MXNet: Gradient Compression (2bit), 2017",
      .options = {{.name = "threshold",
                   .summary = "magnitude from which an element is sent; MXNet's default is 0.5 for sums over "
                              "a batch (optimizer.gradient), and this one is for means",
                   .default_value = 0.01,
                   .minimum = 1e-12},
                  error_feedback_option(true)},
      .make = {.sharing = Sharing::gathered, .make = make_codec<TwoBit>, .efforts = two_bit_efforts}};
}

}  // namespace tandem::compression

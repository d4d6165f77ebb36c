// Every number in 16 bits: fp16 and bf16.
#include "policies/compression/half.hpp"
#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

constexpr std::int64_t half_bytes = sizeof(std::uint16_t);

template <class Format>
class Cast final : public Codec {
 public:
  explicit Cast(std::int64_t elements) : elements_(elements) {}
  std::int64_t message_bytes() const override { return elements_ * half_bytes; }
  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    for (std::size_t i = 0; i < values.size(); ++i) put(message, i, Format::narrow(values[i]));
  }
  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = Format::widen(get<std::uint16_t>(message, i));
  }

 private:
  std::int64_t elements_;
};

/// Each sum is rounded, as an all-reduce of halves does.
template <class Format>
void add_halves(std::byte* sum, const std::byte* arrived, std::int64_t elements) {
  const auto count = static_cast<std::size_t>(elements);
  const std::span<std::byte> sums(sum, count * half_bytes);
  const std::span<const std::byte> others(arrived, count * half_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const float both =
        Format::widen(get<std::uint16_t>(sums, i)) + Format::widen(get<std::uint16_t>(others, i));
    put(sums, i, Format::narrow(both));
  }
}

}  // namespace

const collectives::Element fp16_element{half_bytes, add_halves<Fp16>};
const collectives::Element bf16_element{half_bytes, add_halves<Bf16>};

std::unique_ptr<Codec> make_fp16(const Setting& setting) {
  return std::make_unique<Cast<Fp16>>(setting.stretch.elements);
}
std::unique_ptr<Codec> make_bf16(const Setting& setting) {
  return std::make_unique<Cast<Bf16>>(setting.stretch.elements);
}

Efforts cast_efforts(const Options& options) {
  constexpr double both = sizeof(float) + half_bytes;
  return {{both + feedback_bytes(options)}, {both}};
}

}  // namespace tandem::compression

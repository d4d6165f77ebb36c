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

}  // namespace

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

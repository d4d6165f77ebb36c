// Every number in 16 bits: IEEE half precision (Micikevicius et al., ICLR 2018) or bfloat16 (Kalamkar et al.,
// 2019). Messages can be added, so an all-reduce works on 16-bit numbers.
#include "policies/compression/half.hpp"
#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

constexpr std::int64_t half_bytes = sizeof(std::uint16_t);

template <class Format>
class Cast final : public Codec {
 public:
  explicit Cast(const Setting& setting) : elements_(setting.stretch.elements) {}
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

Efforts cast_efforts(const Options& options) {
  constexpr double both = sizeof(float) + half_bytes;
  return {{both + feedback_bytes(options)}, {both}};
}

}  // namespace

Entry fp16() {
  return {.name = "fp16",
          .summary = "16-bit floats, at most 65504: half of the bytes; an all-reduce adds 16-bit floats",
          .paper = "Micikevicius et al.: Mixed Precision Training. ICLR 2018",
          .options = {error_feedback_option(false)},
          .make = {.sharing = Sharing::summed,
                   .make = make_codec<Cast<Fp16>>,
                   .efforts = cast_efforts,
                   .element = &collectives::fp16_element}};
}

Entry bf16() {
  return {
      .name = "bf16",
      .summary = "16-bit floats with the range of 32-bit ones: half of the bytes; an all-reduce adds them",
      .paper = "Kalamkar et al.: A Study of BFLOAT16 for Deep Learning Training. arXiv:1905.12322, 2019",
      .options = {error_feedback_option(false)},
      .make = {.sharing = Sharing::summed,
               .make = make_codec<Cast<Bf16>>,
               .efforts = cast_efforts,
               .element = &collectives::bf16_element}};
}

}  // namespace tandem::compression

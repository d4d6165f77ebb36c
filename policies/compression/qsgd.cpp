// QSGD (Alistarh, Grubic, Li, Tomioka, Vojnovic, NeurIPS 2017). Each element is rounded at random to one of
// 2 s + 1 levels of its bucket's norm, so that its expected value is the element.
#include <algorithm>
#include <bit>
#include <cmath>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::compression {
namespace {

/// Bits of a code for -s to s.
int code_bits(std::int64_t levels) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(2 * levels)));
}

class Qsgd final : public Codec {
 public:
  explicit Qsgd(const Setting& setting)
      : elements_(setting.stretch.elements),
        levels_(setting.options.integer("levels")),
        bucket_(setting.options.integer("bucket")),
        seed_(
            Rng::stream(Rng::stream(setting.seed, "qsgd", static_cast<std::uint64_t>(setting.worker)).next(),
                        "stretch", static_cast<std::uint64_t>(setting.stretch.position))
                .next()) {}

  std::int64_t message_bytes() const override {
    return packed_bytes(elements_, code_bits(levels_)) + buckets() * static_cast<std::int64_t>(sizeof(float));
  }

  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    Rng random = Rng::stream(seed_, "exchange", static_cast<std::uint64_t>(exchange));
    BitWriter codes(message, code_bits(levels_));
    for (std::int64_t bucket = 0; bucket < buckets(); ++bucket) {
      const auto in_bucket = of(values, bucket);
      double square = 0.0;
      for (const float value : in_bucket) square += static_cast<double>(value) * static_cast<double>(value);
      const auto norm = static_cast<float>(std::sqrt(square));
      put(norms_of(message), static_cast<std::size_t>(bucket), norm);
      for (const float value : in_bucket) codes.put(code_of(value, norm, random.uniform()));
    }
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    BitReader codes(message, code_bits(levels_));
    for (std::int64_t bucket = 0; bucket < buckets(); ++bucket) {
      const float norm = get<float>(norms_of(message), static_cast<std::size_t>(bucket));
      const float step = norm / static_cast<float>(levels_);
      for (float& value : of(values, bucket)) {
        const std::int64_t level = static_cast<std::int64_t>(codes.get()) - levels_;
        value = static_cast<float>(level) * step;
      }
    }
  }

 private:
  std::int64_t buckets() const { return (elements_ + bucket_ - 1) / bucket_; }

  template <class T>
  std::span<T> of(std::span<T> values, std::int64_t bucket) const {
    const std::int64_t begin = bucket * bucket_;
    return values.subspan(static_cast<std::size_t>(begin),
                          static_cast<std::size_t>(std::min(bucket_, elements_ - begin)));
  }
  template <class T>
  std::span<T> norms_of(std::span<T> message) const {
    return message.subspan(static_cast<std::size_t>(packed_bytes(elements_, code_bits(levels_))));
  }

  /// An infinite or NaN norm is sent as it is, and so detected.
  std::uint32_t code_of(float value, float norm, double drawn) const {
    std::int64_t level = 0;
    if (norm > 0.0F && std::isfinite(norm)) {
      const double scaled =
          std::abs(static_cast<double>(value)) / static_cast<double>(norm) * static_cast<double>(levels_);
      level = std::min(levels_, static_cast<std::int64_t>(std::floor(scaled + drawn)));
    }
    return static_cast<std::uint32_t>(levels_ + (std::signbit(value) ? -level : level));
  }

  std::int64_t elements_;
  std::int64_t levels_;
  std::int64_t bucket_;
  std::uint64_t seed_;
};

Efforts qsgd_efforts(const Options& options) {
  const double width =
      4.0 + code_bits(options.integer("levels")) / 8.0 + 4.0 / static_cast<double>(options.integer("bucket"));
  constexpr double flops_of_draw = 20.0;
  return {{width + 4.0, flops_of_draw + 6.0}, {width, 3.0}};
}

}  // namespace

Entry qsgd() {
  return {.name = "qsgd",
          .summary =
              "elements rounded at random to a few levels of their bucket's norm, unbiased; uses an "
              "all-gather",
          .paper =
              "Alistarh, Grubic, Li, Tomioka, Vojnovic: QSGD: Communication-Efficient SGD via Gradient "
              "Quantization and Encoding. NeurIPS 2017",
          .options = {integer_option("levels", "quantisation levels above 0", 4, 1, 32767),
                      integer_option("bucket", "elements that share a norm", 128, 1, 1e9)},
          .make = {.sharing = Sharing::gathered, .make = make_codec<Qsgd>, .efforts = qsgd_efforts}};
}

}  // namespace tandem::compression

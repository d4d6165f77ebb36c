// QSGD (Alistarh, Grubic, Li, Tomioka, Vojnovic, NeurIPS 2017). Each element is rounded at random to one of
// 2 s + 1 levels of its bucket's norm, so that its expected value is the element.
#include "policies/compression/qsgd.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"
#include "policies/vocabulary/indexed_random.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::compression {
namespace {

/// Bits of a code for -s to s.
int code_bits(std::int64_t levels) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(2 * levels)));
}

class Qsgd final : public Codec {
 public:
  explicit Qsgd(const Setting& setting) : form_(setting) {}

  std::int64_t message_bytes() const override { return form_.message_bytes(); }

  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    check_sizes(values.size(), form_.elements(), message.size(), message_bytes());
    const std::uint64_t seed = form_.seed_of(exchange);
    std::uint64_t index = 0;
    BitWriter codes(message, form_.bits());
    for (std::int64_t bucket = 0; bucket < form_.buckets(); ++bucket) {
      const auto in_bucket = of(values, bucket);
      double square = 0.0;
      for (const float value : in_bucket) square += static_cast<double>(value) * static_cast<double>(value);
      const auto norm = static_cast<float>(std::sqrt(square));
      put(norms_of(message), static_cast<std::size_t>(bucket), norm);
      for (const float value : in_bucket) codes.put(code_of(value, norm, indexed_uniform(seed, index++)));
    }
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    read(message, values, [](float& value, float decoded) { value = decoded; });
  }

  bool add_decoded(std::span<const std::byte> message, std::int64_t, std::span<float> sum) override {
    read(message, sum, [](float& value, float decoded) { value += decoded; });
    return true;
  }

 private:
  template <class Take>
  void read(std::span<const std::byte> message, std::span<float> values, Take take) const {
    check_sizes(values.size(), form_.elements(), message.size(), message_bytes());
    BitReader codes(message, form_.bits());
    for (std::int64_t bucket = 0; bucket < form_.buckets(); ++bucket) {
      const float norm = get<float>(norms_of(message), static_cast<std::size_t>(bucket));
      const float step = norm / static_cast<float>(form_.levels());
      for (float& value : of(values, bucket)) {
        const std::int64_t level = static_cast<std::int64_t>(codes.get()) - form_.levels();
        take(value, static_cast<float>(level) * step);
      }
    }
  }

  template <class T>
  std::span<T> of(std::span<T> values, std::int64_t bucket) const {
    const std::int64_t begin = bucket * form_.bucket();
    return values.subspan(static_cast<std::size_t>(begin),
                          static_cast<std::size_t>(std::min(form_.bucket(), form_.elements() - begin)));
  }
  template <class T>
  std::span<T> norms_of(std::span<T> message) const {
    return message.subspan(static_cast<std::size_t>(form_.norms()));
  }

  /// An infinite or NaN norm is sent as it is, and so detected.
  std::uint32_t code_of(float value, float norm, double drawn) const {
    const std::int64_t levels = form_.levels();
    std::int64_t level = 0;
    if (norm > 0.0F && std::isfinite(norm)) {
      const double scaled =
          std::abs(static_cast<double>(value)) / static_cast<double>(norm) * static_cast<double>(levels);
      level = std::min(levels, static_cast<std::int64_t>(std::floor(scaled + drawn)));
    }
    return static_cast<std::uint32_t>(levels + (std::signbit(value) ? -level : level));
  }

  QsgdForm form_;
};

Efforts qsgd_efforts(const Options& options) {
  const double width =
      4.0 + code_bits(options.integer("levels")) / 8.0 + 4.0 / static_cast<double>(options.integer("bucket"));
  constexpr double flops_of_draw = 20.0;
  return {{width + 4.0, flops_of_draw + 6.0, 2}, {width, 3.0}};
}

}  // namespace

QsgdForm::QsgdForm(const Setting& setting)
    : elements_(setting.stretch.elements),
      levels_(setting.options.integer("levels")),
      bucket_(setting.options.integer("bucket")),
      bits_(code_bits(levels_)),
      seed_(Rng::stream(Rng::stream(setting.seed, "qsgd", static_cast<std::uint64_t>(setting.worker)).next(),
                        "stretch", static_cast<std::uint64_t>(setting.stretch.position))
                .next()) {}

std::int64_t QsgdForm::norms() const { return packed_bytes(elements_, bits_); }

std::uint64_t QsgdForm::seed_of(std::int64_t exchange) const {
  return Rng::stream(seed_, "exchange", static_cast<std::uint64_t>(exchange)).next();
}

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
          .make = {.sharing = Sharing::gathered,
                   .make = make_codec<Qsgd>,
                   .efforts = qsgd_efforts,
                   .may_err_widely = [](const Options&) { return true; }}};
}

}  // namespace tandem::compression

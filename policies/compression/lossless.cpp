// Lossless: the bytes of the floats are sorted by their place, so that signs and exponents, which are alike,
// follow each other. The bytes of each place are packed by zstd. So does Blosc (Alted 2010), which ps_pytorch
// uses. Messages have lengths of their own: they begin with those of the four places.
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

constexpr int level = 1;  // on random gradients, higher ones take longer and gain nothing
constexpr std::size_t places = sizeof(float);
constexpr std::size_t lengths_bytes = places * sizeof(std::uint32_t);

/// The following piece of a message begins where a float can.
std::size_t rounded_up(std::size_t bytes) { return (bytes + places - 1) / places * places; }

class Lossless final : public Codec {
 public:
  explicit Lossless(const Setting& setting)
      : elements_(static_cast<std::size_t>(setting.stretch.elements)),
        ratio_(setting.options.real("ratio")) {}

  std::int64_t message_bytes() const override {
    return static_cast<std::int64_t>(lengths_bytes + elements_ * places);
  }
  std::int64_t header_bytes() const override { return lengths_bytes; }
  std::int64_t bytes_of(std::span<const std::byte> header) const override {
    std::size_t packed = 0;
    for (std::size_t place = 0; place < places; ++place) packed += length_of(header, place);
    return static_cast<std::int64_t>(lengths_bytes + rounded_up(packed));
  }
  std::int64_t expected_bytes() const override {
    const double packed = ratio_ * static_cast<double>(elements_ * places);
    return static_cast<std::int64_t>(lengths_bytes + rounded_up(static_cast<std::size_t>(std::ceil(packed))));
  }

  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), std::ssize(values), message.size(), message_bytes());
    prepare();
    const auto plain = std::as_bytes(values);
    auto rest = message.subspan(lengths_bytes);
    for (std::size_t place = 0; place < places; ++place) {
      for (std::size_t i = 0; i < elements_; ++i) sorted_[i] = plain[i * places + place];
      const std::size_t found =
          ZSTD_compressCCtx(packing_.get(), packed_.data(), packed_.size(), sorted_.data(), elements_, level);
      TANDEM_CHECK(ZSTD_isError(found) == 0U, "zstd", ZSTD_getErrorName(found));
      // As they are, if packing does not shorten them.
      const auto& shorter = found < elements_ ? packed_ : sorted_;
      const std::size_t length = std::min(found, elements_);
      put(message, place, static_cast<std::uint32_t>(length));
      std::copy_n(shorter.begin(), length, rest.begin());
      rest = rest.subspan(length);
    }
  }

  /// `message` may continue after its end.
  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    TANDEM_CHECK(values.size() == elements_ && bytes_of(message) <= std::ssize(message), "message",
                 message.size(), "expected", bytes_of(message));
    prepare();
    const auto plain = std::as_writable_bytes(values);
    auto rest = message.subspan(lengths_bytes);
    for (std::size_t place = 0; place < places; ++place) {
      const std::size_t length = length_of(message, place);
      const std::byte* bytes = rest.data();
      if (length < elements_) {
        const std::size_t found =
            ZSTD_decompressDCtx(unpacking_.get(), sorted_.data(), elements_, rest.data(), length);
        TANDEM_CHECK(found == elements_, "unpacked", found, "expected", elements_);
        bytes = sorted_.data();
      }
      for (std::size_t i = 0; i < elements_; ++i) plain[i * places + place] = bytes[i];
      rest = rest.subspan(length);
    }
  }

 private:
  std::size_t length_of(std::span<const std::byte> header, std::size_t place) const {
    const std::size_t length = get<std::uint32_t>(header, place);
    TANDEM_CHECK(length <= elements_, "packed", length, "elements", elements_);
    return length;
  }

  void prepare() {
    if (packing_) return;
    packing_.reset(ZSTD_createCCtx());
    unpacking_.reset(ZSTD_createDCtx());
    sorted_.resize(elements_);
    packed_.resize(ZSTD_compressBound(elements_));
  }

  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  std::size_t elements_;
  double ratio_;
  std::unique_ptr<ZSTD_CCtx, Free> packing_;
  std::unique_ptr<ZSTD_DCtx, Free> unpacking_;
  std::vector<std::byte> sorted_;  ///< the bytes of one place
  std::vector<std::byte> packed_;
};

/// Measured with 2^20 normal values on one core of a server: 8 and 3.5 ns per element, of which memory is the
/// least part. Such a core makes about 10 Gflop/s.
Efforts lossless_efforts(const Options&) {
  return {.compress = {.bytes = 4.0 * places, .flops = 80.0},
          .decompress = {.bytes = 4.0 * places, .flops = 35.0}};
}

}  // namespace

Entry lossless() {
  return {.name = "lossless",
          .summary =
              "the same floats in fewer bytes (sorted bytes, packed by zstd), to servers only; made by "
              "processors, also for GPUs",
          .paper =
              "Alted: Why Modern CPUs Are Starving and What Can Be Done about It. Computing in Science & "
              "Engineering 12(2), 2010",
          .options = {{.name = "ratio",
                       .summary = "modelled mathematics: length of a message over that of its floats; real "
                                  "messages have lengths of their own (normal values: 0.84)",
                       .default_value = 0.84,
                       .minimum = 1e-3,
                       .maximum = 1.0}},
          .make = {.sharing = Sharing::none,
                   .make = make_codec<Lossless>,
                   .efforts = lossless_efforts,
                   .is_exact = true}};
}

}  // namespace tandem::compression

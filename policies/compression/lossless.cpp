// Lossless: the bytes of the floats are sorted by their place, so that signs and exponents, which are alike,
// follow each other, and packed by zstd. So does Blosc (Alted 2010), which ps_pytorch uses. Messages have
// lengths of their own, which begin them.
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

constexpr int level = 1;  // on random gradients, higher ones take longer and gain nothing
constexpr std::size_t width = sizeof(float);
constexpr std::size_t length_bytes = sizeof(std::uint32_t);

/// The following piece of a message begins where a float can.
std::size_t rounded_up(std::size_t bytes) { return (bytes + width - 1) / width * width; }

class Lossless final : public Codec {
 public:
  explicit Lossless(const Setting& setting)
      : elements_(setting.stretch.elements), ratio_(setting.options.real("ratio")) {}

  std::int64_t message_bytes() const override {
    return static_cast<std::int64_t>(length_bytes) + elements_ * static_cast<std::int64_t>(width);
  }
  std::int64_t header_bytes() const override { return length_bytes; }
  std::int64_t bytes_of(std::span<const std::byte> header) const override {
    return static_cast<std::int64_t>(length_bytes + rounded_up(packed_bytes_of(header)));
  }
  std::int64_t expected_bytes() const override {
    const double packed = ratio_ * static_cast<double>(elements_) * static_cast<double>(width);
    return static_cast<std::int64_t>(length_bytes + rounded_up(static_cast<std::size_t>(std::ceil(packed))));
  }

  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    prepare();
    const auto plain = std::as_bytes(values);
    sort_bytes(plain);
    const std::size_t found = ZSTD_compressCCtx(packing_.get(), packed_.data(), packed_.size(),
                                                sorted_.data(), sorted_.size(), level);
    TANDEM_CHECK(ZSTD_isError(found) == 0U, "zstd", ZSTD_getErrorName(found));
    // As it is, if packing does not shorten it.
    const bool is_shorter = rounded_up(found) < plain.size();
    const auto packed = is_shorter ? std::span<const std::byte>(packed_).first(found) : plain;
    put(message, 0, static_cast<std::uint32_t>(packed.size()));
    std::ranges::copy(packed, message.begin() + length_bytes);
  }

  /// `message` may continue after its end.
  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    const std::size_t size = packed_bytes_of(message);
    const auto plain = std::as_writable_bytes(values);
    check_sizes(values.size(), elements_, plain.size(),
                message_bytes() - static_cast<std::int64_t>(length_bytes));
    TANDEM_CHECK(length_bytes + size <= message.size(), "message", message.size(), "expected", size);
    const auto packed = message.subspan(length_bytes, size);
    if (size == plain.size()) return void(std::ranges::copy(packed, plain.begin()));
    prepare();
    const std::size_t found =
        ZSTD_decompressDCtx(unpacking_.get(), sorted_.data(), sorted_.size(), packed.data(), packed.size());
    TANDEM_CHECK(found == sorted_.size(), "unpacked", found, "expected", sorted_.size());
    for (std::size_t place = 0; place < width; ++place)
      for (std::size_t i = 0; i < values.size(); ++i)
        plain[i * width + place] = sorted_[place * values.size() + i];
  }

 private:
  std::size_t packed_bytes_of(std::span<const std::byte> header) const {
    const auto size = get<std::uint32_t>(header, 0);
    TANDEM_CHECK(size <= static_cast<std::size_t>(elements_) * width, "packed", size, "elements", elements_);
    return size;
  }

  void prepare() {
    if (packing_) return;
    packing_.reset(ZSTD_createCCtx());
    unpacking_.reset(ZSTD_createDCtx());
    sorted_.resize(static_cast<std::size_t>(elements_) * width);
    packed_.resize(ZSTD_compressBound(sorted_.size()));
  }

  void sort_bytes(std::span<const std::byte> plain) {
    const std::size_t elements = plain.size() / width;
    for (std::size_t place = 0; place < width; ++place)
      for (std::size_t i = 0; i < elements; ++i) sorted_[place * elements + i] = plain[i * width + place];
  }

  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  std::int64_t elements_;
  double ratio_;
  std::unique_ptr<ZSTD_CCtx, Free> packing_;
  std::unique_ptr<ZSTD_DCtx, Free> unpacking_;
  std::vector<std::byte> sorted_;  ///< first bytes of all elements, second bytes, ...
  std::vector<std::byte> packed_;
};

/// Measured with 2^20 normal values on one core of a server: 8 and 3.5 ns per element, of which memory is the
/// least part. Such a core makes about 10 Gflop/s.
Efforts lossless_efforts(const Options&) {
  return {.compress = {.bytes = 4.0 * width, .flops = 80.0},
          .decompress = {.bytes = 4.0 * width, .flops = 35.0}};
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
          .make = {.sharing = Sharing::none, .make = make_codec<Lossless>, .efforts = lossless_efforts}};
}

}  // namespace tandem::compression

#include "workloads/data/image.hpp"

#include <fmt/format.h>
#include <spng.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/image_scaling.hpp"

namespace tandem {
namespace {

/// Pixels of one image; a larger one is a mistake, or made to use up memory.
constexpr std::int64_t most_pixels = std::int64_t{1} << 28;

[[noreturn]] void fail_image(const std::string& name, const std::string& expected, const std::string& found) {
  throw ConfigError(fmt::format("image '{}': expected {}, found {}", name, expected, found));
}

void check_size(const ImageShape& shape, const std::string& name) {
  if (std::int64_t{shape.height} * shape.width > most_pixels)
    fail_image(name, fmt::format("at most {} pixels", most_pixels),
               fmt::format("{} x {}", shape.height, shape.width));
}

bool begins_with(std::span<const std::byte> bytes, std::initializer_list<int> begin) {
  return bytes.size() > begin.size() &&
         std::equal(begin.begin(), begin.end(), bytes.begin(),
                    [](int expected, std::byte found) { return std::to_integer<int>(found) == expected; });
}
bool is_jpeg(std::span<const std::byte> bytes) { return begins_with(bytes, {0xff, 0xd8, 0xff}); }
bool is_png(std::span<const std::byte> bytes) {
  return begins_with(bytes, {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'});
}

const unsigned char* data_of(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* data_of(std::vector<std::byte>& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

class Jpeg {
 public:
  Jpeg(std::span<const std::byte> encoded, const std::string& name)
      : encoded_(encoded), name_(name), reader_(tjInitDecompress(), tjDestroy) {
    int sampling = 0;
    int colours = 0;
    if (tjDecompressHeader3(reader_.get(), data_of(encoded_), encoded_.size(), &width_, &height_, &sampling,
                            &colours) != 0)
      fail();
    is_grey_ = colours == TJCS_GRAY;
    is_print_ = colours == TJCS_CMYK || colours == TJCS_YCCK;
    check_size(shape(), name_);
  }

  ImageShape shape() const { return {is_grey_ ? 1 : 3, height_, width_}; }

  /// Halved while it still covers `least`: the format can do that faster than the scaling of pixels.
  Picture decode(const ImageShape& least) const {
    int parts = 1;
    while (parts < 8 && scaled(height_, 2 * parts) >= least.height &&
           scaled(width_, 2 * parts) >= least.width)
      parts *= 2;
    if (height_ == least.height && width_ == least.width) parts = 1;
    Picture picture{{is_grey_ ? 1 : 3, scaled(height_, parts), scaled(width_, parts)}, {}};
    const int stored = is_grey_ ? 1 : is_print_ ? 4 : 3;
    const int format = is_grey_ ? TJPF_GRAY : is_print_ ? TJPF_CMYK : TJPF_RGB;
    picture.pixels.resize(static_cast<std::size_t>(picture.shape.height) *
                          static_cast<std::size_t>(picture.shape.width) * static_cast<std::size_t>(stored));
    if (tjDecompress2(reader_.get(), data_of(encoded_), encoded_.size(), data_of(picture.pixels),
                      picture.shape.width, 0, picture.shape.height, format, 0) != 0 &&
        is_broken())
      fail();
    if (is_print_) mix_inks(picture.pixels);
    return picture;
  }

 private:
  static int scaled(int length, int parts) { return TJSCALED(length, (tjscalingfactor{1, parts})); }

  /// Many files have bytes that do not belong there, and are whole all the same.
  bool is_broken() const {
    return tjGetErrorCode(reader_.get()) != TJERR_WARNING ||
           std::string(tjGetErrorStr2(reader_.get())).find("remature end") != std::string::npos;
  }
  [[noreturn]] void fail() const {
    fail_image(name_, "a whole JPEG image", std::string("an error: ") + tjGetErrorStr2(reader_.get()));
  }
  /// Red, green and blue from the inks of a printer, which are stored as their opposites.
  static void mix_inks(std::vector<std::byte>& pixels) {
    std::size_t to = 0;
    for (std::size_t from = 0; from < pixels.size(); from += 4) {
      const int black = std::to_integer<int>(pixels[from + 3]);
      for (std::size_t ink = 0; ink < 3; ++ink)
        pixels[to++] = static_cast<std::byte>(std::to_integer<int>(pixels[from + ink]) * black / 255);
    }
    pixels.resize(to);
  }

  std::span<const std::byte> encoded_;
  const std::string& name_;
  std::unique_ptr<void, int (*)(void*)> reader_;
  int height_ = 0;
  int width_ = 0;
  bool is_grey_ = false;
  bool is_print_ = false;  ///< stored as inks
};

class Png {
 public:
  Png(std::span<const std::byte> encoded, const std::string& name)
      : name_(name), reader_(spng_ctx_new(0), spng_ctx_free) {
    constexpr std::uint32_t longest = 1U << 16;
    expect(spng_set_image_limits(reader_.get(), longest, longest));
    expect(spng_set_png_buffer(reader_.get(), encoded.data(), encoded.size()));
    expect(spng_get_ihdr(reader_.get(), &header_));
    check_size(shape(), name_);
  }

  ImageShape shape() const {
    return {is_grey() ? 1 : 3, static_cast<int>(header_.height), static_cast<int>(header_.width)};
  }

  Picture decode() const {
    // Grey with more bits, or with transparency, is only available as colours.
    const bool as_grey = header_.color_type == SPNG_COLOR_TYPE_GRAYSCALE && header_.bit_depth <= 8;
    Picture picture{shape(), {}};
    picture.shape.channels = as_grey ? 1 : 3;
    std::size_t size = 0;
    const int format = as_grey ? SPNG_FMT_G8 : SPNG_FMT_RGB8;
    expect(spng_decoded_image_size(reader_.get(), format, &size));
    picture.pixels.resize(size);
    expect(spng_decode_image(reader_.get(), picture.pixels.data(), size, format, 0));
    return picture;
  }

 private:
  bool is_grey() const {
    return header_.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
           header_.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  }
  void expect(int error) const {
    if (error != 0) fail_image(name_, "a whole PNG image", std::string("an error: ") + spng_strerror(error));
  }

  const std::string& name_;
  std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> reader_;
  spng_ihdr header_{};
};

[[noreturn]] void fail_format(std::span<const std::byte> encoded, const std::string& name) {
  fail_image(name, "a JPEG or PNG image",
             encoded.empty() ? std::string("an empty file") : std::string("something else"));
}

}  // namespace

ImageShape image_shape(std::span<const std::byte> encoded, const std::string& name) {
  if (is_jpeg(encoded)) return Jpeg(encoded, name).shape();
  if (is_png(encoded)) return Png(encoded, name).shape();
  fail_format(encoded, name);
}

void decode_image(std::span<const std::byte> encoded, const std::string& name, const ImageShape& shape,
                  std::span<std::byte> pixels) {
  if (is_jpeg(encoded)) return fit_picture(Jpeg(encoded, name).decode(shape), shape, pixels);
  if (is_png(encoded)) return fit_picture(Png(encoded, name).decode(), shape, pixels);
  fail_format(encoded, name);
}

std::vector<std::byte> encode_png(const ImageShape& shape, std::span<const std::byte> pixels) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  const std::size_t size = pixels.size() / channels;
  std::vector<std::byte> interleaved(pixels.size());
  for (std::size_t channel = 0; channel < channels; ++channel)
    for (std::size_t i = 0; i < size; ++i) interleaved[i * channels + channel] = pixels[channel * size + i];
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> writer(spng_ctx_new(SPNG_CTX_ENCODER), spng_ctx_free);
  const auto expect = [](int error) { TANDEM_CHECK(error == 0, spng_strerror(error)); };
  spng_ihdr header{};
  header.width = static_cast<std::uint32_t>(shape.width);
  header.height = static_cast<std::uint32_t>(shape.height);
  header.bit_depth = 8;
  header.color_type = shape.channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  expect(spng_set_option(writer.get(), SPNG_ENCODE_TO_BUFFER, 1));
  expect(spng_set_ihdr(writer.get(), &header));
  expect(spng_encode_image(writer.get(), interleaved.data(), interleaved.size(), SPNG_FMT_PNG,
                           SPNG_ENCODE_FINALIZE));
  std::size_t length = 0;
  int error = 0;
  const std::unique_ptr<void, void (*)(void*)> encoded(spng_get_png_buffer(writer.get(), &length, &error),
                                                       std::free);
  expect(error);
  const auto* const begin = static_cast<const std::byte*>(encoded.get());
  return {begin, begin + length};
}

bool has_image_libraries() { return true; }

}  // namespace tandem

#include "workloads/data/image_scaling.hpp"

#include <algorithm>
#include <cmath>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

/// The pixels of a line that make one of the scaled line, and their weights, which add up to 1.
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

/// `scale`: scaled length / length. `wanted`: of the scaled line, the ones in the middle.
std::vector<Taps> taps_of(int length, double scale, int wanted) {
  const double begin = (length * scale - wanted) / 2;
  const double reach = std::max(1.0, 1.0 / scale);
  std::vector<Taps> taps;
  for (int i = 0; i < wanted; ++i) {
    const double centre = (begin + i + 0.5) / scale - 0.5;
    const int first = std::max(0, static_cast<int>(std::ceil(centre - reach)));
    const int last = std::min(length - 1, static_cast<int>(std::floor(centre + reach)));
    Taps& own = taps.emplace_back();
    own.first = std::min(first, last);
    double sum = 0.0;
    std::vector<double> weights;
    for (int at = own.first; at <= last; ++at) {
      weights.push_back(std::max(0.0, 1.0 - std::abs(at - centre) / reach));
      sum += weights.back();
    }
    if (sum == 0.0) {
      weights.front() = sum = 1.0;
    }
    for (const double weight : weights) own.weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

Picture scaled(const Picture& picture, int height, int width) {
  const ImageShape& shape = picture.shape;
  const double scale =
      std::max(static_cast<double>(height) / shape.height, static_cast<double>(width) / shape.width);
  const auto rows = taps_of(shape.height, scale, height);
  const auto columns = taps_of(shape.width, scale, width);
  const int channels = shape.channels;
  const auto line = static_cast<std::size_t>(width * channels);
  const int first = rows.front().first;
  const int end = rows.back().first + static_cast<int>(rows.back().weights.size());
  std::vector<float> narrowed(static_cast<std::size_t>(end - first) * line);
  for (int row = first; row < end; ++row) {
    const std::byte* const from =
        picture.pixels.data() +
        static_cast<std::size_t>(row) * static_cast<std::size_t>(shape.width * channels);
    float* to = narrowed.data() + static_cast<std::size_t>(row - first) * line;
    for (const Taps& taps : columns)
      for (int channel = 0; channel < channels; ++channel) {
        float sum = 0.0F;
        const std::byte* pixel = from + taps.first * channels + channel;
        for (const float weight : taps.weights) {
          sum += weight * static_cast<float>(std::to_integer<int>(*pixel));
          pixel += channels;
        }
        *to++ = sum;
      }
  }
  Picture result{{channels, height, width}, {}};
  result.pixels.reserve(static_cast<std::size_t>(height) * line);
  std::vector<float> sums(line);
  for (const Taps& taps : rows) {
    std::ranges::fill(sums, 0.0F);
    const float* from = narrowed.data() + static_cast<std::size_t>(taps.first - first) * line;
    for (const float weight : taps.weights)
      for (float& sum : sums) sum += weight * *from++;
    for (const float sum : sums)
      result.pixels.push_back(static_cast<std::byte>(std::clamp(std::lround(sum), 0L, 255L)));
  }
  return result;
}

}  // namespace

void fit_picture(const Picture& picture, const ImageShape& shape, std::span<std::byte> pixels) {
  const auto size = static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  TANDEM_CHECK(pixels.size() == size * static_cast<std::size_t>(shape.channels), pixels.size(), size);
  if (picture.shape.height != shape.height || picture.shape.width != shape.width)
    return fit_picture(scaled(picture, shape.height, shape.width), shape, pixels);
  const std::byte* from = picture.pixels.data();
  if (picture.shape.channels == 1) {
    for (int channel = 0; channel < shape.channels; ++channel)
      std::copy_n(from, size, pixels.begin() + static_cast<std::ptrdiff_t>(size) * channel);
    return;
  }
  for (std::size_t i = 0; i < size; ++i, from += 3) {
    if (shape.channels == 3) {
      for (std::size_t channel = 0; channel < 3; ++channel) pixels[channel * size + i] = from[channel];
      continue;
    }
    const int luminance = 77 * std::to_integer<int>(from[0]) + 150 * std::to_integer<int>(from[1]) +
                          29 * std::to_integer<int>(from[2]);
    pixels[i] = static_cast<std::byte>((luminance + 128) >> 8);
  }
}

}  // namespace tandem

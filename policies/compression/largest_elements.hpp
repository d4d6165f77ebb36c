// Messages of the elements with the largest magnitudes: their indices, then their values, 8 bytes for each
// element. For top-k and DGC.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "policies/compression/codec.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {

class LargestElements {
 public:
  static constexpr std::int64_t bytes_of(std::int64_t count) {
    return count * static_cast<std::int64_t>(sizeof(std::uint32_t) + sizeof(float));
  }

  /// Before `put`, which needs the value of each element.
  void resize(std::size_t elements) { magnitudes_.resize(elements); }
  void note(std::size_t index, float value) { magnitudes_[index] = magnitude_of(value); }

  /// Fills a message with `count` elements; of equal magnitudes, the first ones. Calls `sent` with the index
  /// of each, which may change its value. Pre: `note` was called with all values, since the last `put`.
  template <class Sent>
  void put(std::int64_t count, std::span<const float> values, std::span<std::byte> message, Sent sent) {
    if (count == 0) return;
    const float threshold = smallest_chosen(count);
    const auto larger =
        std::count_if(values.begin(), values.end(), [&](float v) { return magnitude_of(v) > threshold; });
    std::int64_t equal_left = count - static_cast<std::int64_t>(larger);
    const auto numbers = message.subspan(static_cast<std::size_t>(count) * sizeof(std::uint32_t));
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float magnitude = magnitude_of(values[i]);
      if (magnitude < threshold || (magnitude == threshold && equal_left-- <= 0)) continue;
      compression::put(message, chosen, static_cast<std::uint32_t>(i));
      compression::put(numbers, chosen++, values[i]);
      sent(i);
    }
  }

  /// Calls `take` with the target and the value of each element of a message. No index occurs twice.
  template <class Take>
  static void read(std::int64_t count, std::span<const std::byte> message, std::span<float> values,
                   Take take) {
    const auto numbers = message.subspan(static_cast<std::size_t>(count) * sizeof(std::uint32_t));
    for (std::size_t chosen = 0; chosen < static_cast<std::size_t>(count); ++chosen) {
      const auto index = get<std::uint32_t>(message, chosen);
      TANDEM_CHECK(index < values.size(), "index", index, "elements", values.size());
      take(values[index], get<float>(numbers, chosen));
    }
  }

 private:
  /// NaN counts as the largest magnitude, so that it is sent and detected.
  static float magnitude_of(float value) {
    const float magnitude = std::abs(value);
    return magnitude <= std::numeric_limits<float>::max() ? magnitude
                                                          : std::numeric_limits<float>::infinity();
  }
  /// Reorders the magnitudes.
  float smallest_chosen(std::int64_t count) {
    const auto last = magnitudes_.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(magnitudes_.begin(), last, magnitudes_.end(), std::greater<>());
    return *last;
  }

  std::vector<float> magnitudes_;
};

/// A codec whose message is a header, which may be empty, and the largest elements.
class LargestElementsCodec : public Codec {
 public:
  explicit LargestElementsCodec(std::int64_t elements) : elements_(elements) {
    TANDEM_CHECK(elements_ <= std::int64_t{std::numeric_limits<std::uint32_t>::max()}, elements_);
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    std::fill(values.begin(), values.end(), 0.0F);
    read(message, values, [](float& value, float decoded) { value = decoded; });
  }
  bool add_decoded(std::span<const std::byte> message, std::int64_t, std::span<float> sum) override {
    read(message, sum, [](float& value, float decoded) { value += decoded; });
    return true;
  }

 protected:
  /// The number of elements in this message.
  virtual std::int64_t count_in(std::span<const std::byte> message) const = 0;
  std::int64_t elements() const { return elements_; }

  LargestElements largest_;

 private:
  template <class Take>
  void read(std::span<const std::byte> message, std::span<float> values, Take take) const {
    const std::int64_t count = count_in(message);
    const auto header = static_cast<std::size_t>(header_bytes());
    const std::int64_t used = header_bytes() + LargestElements::bytes_of(count);
    // A message with a header may be longer than it is used.
    const std::size_t size =
        header > 0 ? std::min(message.size(), static_cast<std::size_t>(used)) : message.size();
    check_sizes(values.size(), elements_, size, used);
    LargestElements::read(count, message.subspan(header), values, take);
  }

  std::int64_t elements_;
};

}  // namespace tandem::compression

// The k largest elements by magnitude, each with its index. Of equal ones those that stand first.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

/// What is no number counts as largest, so that it is sent and seen.
float magnitude_of(float value) {
  const float magnitude = std::abs(value);
  return magnitude <= std::numeric_limits<float>::max() ? magnitude : std::numeric_limits<float>::infinity();
}

class TopK final : public Codec {
 public:
  explicit TopK(const Setting& setting)
      : elements_(setting.stretch.elements),
        count_(count_of_share(setting.options.real("ratio"), elements_)) {
    TANDEM_CHECK(elements_ <= std::int64_t{std::numeric_limits<std::uint32_t>::max()}, elements_);
  }

  std::int64_t message_bytes() const override {
    return count_ * static_cast<std::int64_t>(sizeof(std::uint32_t) + sizeof(float));
  }

  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    magnitudes_.resize(values.size());
    std::transform(values.begin(), values.end(), magnitudes_.begin(), magnitude_of);
    put_largest(values, message, [](std::size_t) {});
  }

  bool encode_with_memory(std::span<const float> values, std::span<float> unsent, std::int64_t,
                          std::span<std::byte> message) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    TANDEM_CHECK(unsent.size() == values.size(), "unsent", unsent.size(), "values", values.size());
    magnitudes_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      unsent[i] += values[i];
      magnitudes_[i] = magnitude_of(unsent[i]);
    }
    // Not just zero: of what is no finite number nothing finite is left.
    put_largest(unsent, message, [&](std::size_t i) { unsent[i] -= unsent[i]; });
    return true;
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    std::fill(values.begin(), values.end(), 0.0F);
    const auto numbers = message.subspan(static_cast<std::size_t>(count_) * sizeof(std::uint32_t));
    for (std::size_t chosen = 0; chosen < static_cast<std::size_t>(count_); ++chosen) {
      const auto index = get<std::uint32_t>(message, chosen);
      TANDEM_CHECK(index < values.size(), "index", index, "elements", values.size());
      values[index] = get<float>(numbers, chosen);
    }
  }

 private:
  /// `sent` hears the index of each one that the message has. Pre: `magnitudes_` are those of the values.
  template <class Sent>
  void put_largest(std::span<const float> values, std::span<std::byte> message, Sent sent) {
    if (count_ == 0) return;
    const float threshold = smallest_chosen();
    const auto larger =
        std::count_if(values.begin(), values.end(), [&](float v) { return magnitude_of(v) > threshold; });
    std::int64_t equal_left = count_ - static_cast<std::int64_t>(larger);
    const auto numbers = message.subspan(static_cast<std::size_t>(count_) * sizeof(std::uint32_t));
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float magnitude = magnitude_of(values[i]);
      if (magnitude < threshold || (magnitude == threshold && equal_left-- <= 0)) continue;
      put(message, chosen, static_cast<std::uint32_t>(i));
      put(numbers, chosen++, values[i]);
      sent(i);
    }
  }

  /// Reorders the magnitudes.
  float smallest_chosen() {
    const auto last = magnitudes_.begin() + static_cast<std::ptrdiff_t>(count_ - 1);
    std::nth_element(magnitudes_.begin(), last, magnitudes_.end(), std::greater<>());
    return *last;
  }

  std::int64_t elements_;
  std::int64_t count_;
  std::vector<float> magnitudes_;
};

}  // namespace

std::unique_ptr<Codec> make_top_k(const Setting& setting) { return std::make_unique<TopK>(setting); }

Efforts top_k_efforts(const Options& options) {
  constexpr double passes_of_selection = 3.0;  // of its magnitudes, read and written, until the k-th is found
  constexpr double width = sizeof(float);
  // What was not sent is read and written with the values; what was sent is written.
  const double feedback = has_error_feedback(options) ? 3 * width : 0.0;
  return {{4 * width + 2 * width * passes_of_selection + feedback}, {width}};
}

}  // namespace tandem::compression

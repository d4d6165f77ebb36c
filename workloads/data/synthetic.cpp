#include "workloads/data/synthetic.hpp"

#include <algorithm>
#include <cmath>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem {
namespace {

constexpr int blobs_per_channel = 3;
constexpr int largest_shift = 2;
constexpr int noise_width = 96;

/// The pattern of one class, 0 to 255 per pixel, channel after channel.
std::vector<std::uint8_t> make_pattern(const DatasetInfo& info, std::uint64_t seed, std::size_t label) {
  Rng rng = Rng::stream(seed, "synthetic class", label);
  std::vector<std::uint8_t> pattern;
  for (int channel = 0; channel < info.channels; ++channel) {
    std::vector<double> plane(static_cast<std::size_t>(info.height * info.width));
    for (int blob = 0; blob < blobs_per_channel; ++blob) {
      const double row = rng.uniform() * info.height;
      const double column = rng.uniform() * info.width;
      const double radius = (0.08 + 0.12 * rng.uniform()) * std::max(info.height, info.width);
      for (int y = 0; y < info.height; ++y)
        for (int x = 0; x < info.width; ++x) {
          const double distance = std::hypot(y - row, x - column) / radius;
          plane[static_cast<std::size_t>(y * info.width + x)] += 200.0 * std::exp(-distance * distance);
        }
    }
    for (const double value : plane)
      pattern.push_back(static_cast<std::uint8_t>(std::min(255, static_cast<int>(value))));
  }
  return pattern;
}

int shift(Rng& rng) { return static_cast<int>(rng.below(2 * largest_shift + 1)) - largest_shift; }

Rng sample_stream(Dataset::Part part, std::int64_t sample, std::uint64_t seed) {
  const char* purpose = part == Dataset::Part::train ? "synthetic train" : "synthetic test";
  return Rng::stream(seed, purpose, static_cast<std::uint64_t>(sample));
}

std::size_t draw_label(const DatasetInfo& info, Rng& rng) {
  return rng.below(static_cast<std::uint64_t>(info.classes));
}

/// Appends a record: values with as many bits as its pixels have, the first ones lowest.
class RecordWriter {
 public:
  RecordWriter(const DatasetInfo& info, std::size_t label, std::vector<std::byte>& out)
      : bits_(info.pixel_bits), out_(out) {
    for (int byte = 0; byte < info.label_bytes(); ++byte)
      out_.push_back(static_cast<std::byte>(label >> (8 * byte) & 255U));
  }
  /// `value`: 0 to 255.
  void add_pixel(int value) {
    held_ |= static_cast<std::uint32_t>(value >> (8 - bits_)) << count_;
    for (count_ += bits_; count_ >= 8; count_ -= 8) {
      out_.push_back(static_cast<std::byte>(held_ & 255U));
      held_ >>= 8;
    }
  }

 private:
  int bits_;
  std::vector<std::byte>& out_;
  std::uint32_t held_ = 0;
  int count_ = 0;  ///< of bits held
};

void add_pixels(const DatasetInfo& info, const std::vector<std::uint8_t>& pattern, Rng& rng,
                RecordWriter& record) {
  const int down = shift(rng);
  const int right = shift(rng);
  const int strength = 128 + static_cast<int>(rng.below(128));  // of 256
  std::uint64_t noise = 0;
  int noise_bytes = 0;
  for (int channel = 0; channel < info.channels; ++channel)
    for (int y = 0; y < info.height; ++y)
      for (int x = 0; x < info.width; ++x) {
        if (noise_bytes == 0) {
          noise = rng.next();
          noise_bytes = 8;
        }
        const int row = (y + down + info.height) % info.height;
        const int column = (x + right + info.width) % info.width;
        const int value =
            pattern[static_cast<std::size_t>((channel * info.height + row) * info.width + column)];
        const int disturbance = static_cast<int>(noise & 255U) * noise_width / 256;
        record.add_pixel(std::min(255, value * strength / 256 + disturbance));
        noise >>= 8;
        --noise_bytes;
      }
}

}  // namespace

std::vector<std::byte> make_synthetic(const DatasetInfo& info, Dataset::Part part, std::int64_t count,
                                      std::uint64_t seed) {
  TANDEM_CHECK(info.pixels() * info.pixel_bits % 8 == 0, info.pixels(), info.pixel_bits);
  // Only patterns of the classes that occur: those of large images take long.
  std::vector<std::vector<std::uint8_t>> patterns(static_cast<std::size_t>(info.classes));
  std::vector<std::byte> records;
  records.reserve(static_cast<std::size_t>(count * info.record_bytes().count()));
  for (std::int64_t sample = 0; sample < count; ++sample) {
    Rng rng = sample_stream(part, sample, seed);
    const std::size_t label = draw_label(info, rng);
    if (patterns[label].empty()) patterns[label] = make_pattern(info, seed, label);
    RecordWriter record(info, label, records);
    add_pixels(info, patterns[label], rng, record);
  }
  return records;
}

std::vector<std::uint16_t> synthetic_labels(const DatasetInfo& info, Dataset::Part part, std::int64_t count,
                                            std::uint64_t seed) {
  std::vector<std::uint16_t> labels;
  labels.reserve(static_cast<std::size_t>(count));
  for (std::int64_t sample = 0; sample < count; ++sample) {
    Rng rng = sample_stream(part, sample, seed);
    labels.push_back(static_cast<std::uint16_t>(draw_label(info, rng)));
  }
  return labels;
}

}  // namespace tandem

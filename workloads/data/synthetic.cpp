#include "workloads/data/synthetic.hpp"

#include <algorithm>
#include <cmath>

#include "policies/vocabulary/rng.hpp"

namespace tandem {
namespace {

constexpr int blobs_per_channel = 3;
constexpr int largest_shift = 2;
constexpr int noise_width = 96;

/// The pattern of one class, 0 to 255 per pixel, channel after channel.
std::vector<int> make_pattern(const DatasetInfo& info, std::uint64_t seed, int label) {
  Rng rng = Rng::stream(seed, "synthetic class", static_cast<std::uint64_t>(label));
  std::vector<int> pattern;
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
    for (const double value : plane) pattern.push_back(std::min(255, static_cast<int>(value)));
  }
  return pattern;
}

int shift(Rng& rng) { return static_cast<int>(rng.below(2 * largest_shift + 1)) - largest_shift; }

void append_sample(const DatasetInfo& info, const std::vector<int>& pattern, Rng& rng,
                   std::vector<std::byte>& out) {
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
        out.push_back(static_cast<std::byte>(std::min(255, value * strength / 256 + disturbance)));
        noise >>= 8;
        --noise_bytes;
      }
}

}  // namespace

std::vector<std::byte> make_synthetic(const DatasetInfo& info, Dataset::Part part, std::int64_t count,
                                      std::uint64_t seed) {
  std::vector<std::vector<int>> patterns;
  for (int label = 0; label < info.classes; ++label) patterns.push_back(make_pattern(info, seed, label));
  std::vector<std::byte> records;
  records.reserve(static_cast<std::size_t>(count * info.record_bytes().count()));
  const char* purpose = part == Dataset::Part::train ? "synthetic train" : "synthetic test";
  for (std::int64_t sample = 0; sample < count; ++sample) {
    Rng rng = Rng::stream(seed, purpose, static_cast<std::uint64_t>(sample));
    const auto label = rng.below(static_cast<std::uint64_t>(info.classes));
    records.push_back(static_cast<std::byte>(label));
    append_sample(info, patterns[label], rng, records);
  }
  return records;
}

}  // namespace tandem

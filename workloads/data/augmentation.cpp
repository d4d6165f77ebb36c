#include "workloads/data/augmentation.hpp"

#include <algorithm>
#include <cstring>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem {
namespace {

/// Moves the rows of one channel by `right` and `down`; what comes from outside is black.
void shift(std::span<std::byte> channel, int height, int width, int right, int down,
           std::vector<std::byte>& copy) {
  copy.assign(channel.begin(), channel.end());
  std::ranges::fill(channel, std::byte{0});
  const int columns = width - std::abs(right);
  if (columns <= 0) return;
  for (int row = std::max(0, down); row < std::min(height, height + down); ++row) {
    const auto to = static_cast<std::size_t>(row * width + std::max(0, right));
    const auto from = static_cast<std::size_t>((row - down) * width + std::max(0, -right));
    std::memcpy(channel.data() + to, copy.data() + from, static_cast<std::size_t>(columns));
  }
}

}  // namespace

const std::vector<OptionSpec>& augmentation_options() {
  static const std::vector<OptionSpec> options = {
      {"crop", "pixels of black border on each side, before a part of the former size is cut out; 0: none",
       std::int64_t{0}, 0, 1024},
      {"flip", "mirrors every second image, left to right", false}};
  return options;
}

Augmentation Augmentation::from(const Options& options) {
  return {.crop = static_cast<int>(options.integer("crop")), .flip = options.boolean("flip")};
}

void Augmentation::apply(const DatasetInfo& info, std::uint64_t seed, SampleId id, std::int64_t epoch,
                         std::span<std::byte> record) const {
  if (!is_used()) return;
  TANDEM_CHECK(info.pixel_bits == 8 && std::ssize(record) == info.record_bytes().count(), info.pixel_bits,
               record.size());
  const auto pixels = record.subspan(static_cast<std::size_t>(info.label_bytes()));
  const auto index = (static_cast<std::uint64_t>(epoch) << 40) ^ static_cast<std::uint64_t>(id);
  Rng random = Rng::stream(seed, "augmentation", index);
  const auto places = static_cast<std::uint64_t>(2 * crop + 1);
  const int right = static_cast<int>(random.below(places)) - crop;
  const int down = static_cast<int>(random.below(places)) - crop;
  const bool mirror = flip && random.below(2) == 1;
  const auto size = static_cast<std::size_t>(info.height) * static_cast<std::size_t>(info.width);
  std::vector<std::byte> copy;
  for (auto rest = pixels; !rest.empty(); rest = rest.subspan(size)) {
    const auto channel = rest.first(size);
    if (right != 0 || down != 0) shift(channel, info.height, info.width, right, down, copy);
    if (!mirror) continue;
    for (auto rows = channel; !rows.empty(); rows = rows.subspan(static_cast<std::size_t>(info.width)))
      std::ranges::reverse(rows.first(static_cast<std::size_t>(info.width)));
  }
}

}  // namespace tandem

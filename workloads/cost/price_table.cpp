#include "workloads/cost/price_table.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "policies/vocabulary/quantile.hpp"

namespace tandem {
namespace {

using ComputeEntry = Profile::ComputeEntry;

/// Size of a piece of work as its price depends on it.
std::int64_t extent(Work::Kind kind, std::int64_t samples, std::int64_t bytes) {
  using Kind = Work::Kind;
  const bool streams = kind == Kind::update || kind == Kind::reduce;
  return streams || kind == Kind::compress || kind == Kind::decompress ? bytes : samples;
}

/// A measurement without a bucket is used for every bucket.
bool is_of(const ComputeEntry& entry, const std::string& model, const Work& work) {
  return entry.model == model && entry.kind == work.kind && (entry.bucket < 0 || entry.bucket == work.bucket);
}

/// Two measured operations of the kind: the largest one that is not larger than the work, and the smallest
/// one that is not smaller; null where there is none.
std::pair<const ComputeEntry*, const ComputeEntry*> around(const std::vector<ComputeEntry>& entries,
                                                           const std::string& model, const Work& work) {
  const std::int64_t wanted = extent(work.kind, work.samples, work.bytes.count());
  const ComputeEntry* below = nullptr;
  const ComputeEntry* above = nullptr;
  for (const ComputeEntry& entry : entries) {
    if (!is_of(entry, model, work)) continue;
    const std::int64_t size = extent(entry.kind, entry.samples, entry.bytes);
    if (size <= wanted && (below == nullptr || size > extent(below->kind, below->samples, below->bytes)))
      below = &entry;
    if (size >= wanted && (above == nullptr || size < extent(above->kind, above->samples, above->bytes)))
      above = &entry;
  }
  return {below, above};
}

/// Price of work with a stored size; none if no images of known sizes were decoded.
std::optional<Seconds> decoding_price(const std::vector<ComputeEntry>& entries, const std::string& model,
                                      const Work& work) {
  // Per sample: the time as a line over the stored size, by least squares; its start is what pixels cost.
  double count = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (const ComputeEntry& entry : entries) {
    if (!is_of(entry, model, work) || entry.stored == 0 || entry.samples == 0) continue;
    const double x = static_cast<double>(entry.stored) / entry.samples;
    const double y = entry.median_s / entry.samples;
    count += 1;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  if (count == 0) return std::nullopt;
  const double square = count * sum_xx - sum_x * sum_x;
  const bool has_sizes = square > 1e-9 * count * sum_xx;
  const double per_byte =
      has_sizes ? std::clamp((count * sum_xy - sum_x * sum_y) / square, 0.0, sum_y / sum_x) : 0.0;
  const double per_sample = (sum_y - per_byte * sum_x) / count;
  return Seconds(per_sample * work.samples + per_byte * static_cast<double>(work.stored.count()));
}

}  // namespace

std::optional<Seconds> PriceTable::price(const std::string& model, const Work& work) const {
  if (work.stored > Bytes(0))
    if (const auto images = decoding_price(entries_, model, work)) return images;
  const std::int64_t wanted = extent(work.kind, work.samples, work.bytes.count());
  const auto [below, above] = around(entries_, model, work);
  if (below == nullptr && above == nullptr) return std::nullopt;
  // Outside the measured range, time is assumed to be proportional to size.
  if (below == nullptr || above == nullptr) {
    const ComputeEntry& nearest = below != nullptr ? *below : *above;
    const auto size = static_cast<double>(extent(nearest.kind, nearest.samples, nearest.bytes));
    return Seconds(nearest.median_s * static_cast<double>(wanted) / size);
  }
  const auto low = static_cast<double>(extent(below->kind, below->samples, below->bytes));
  const auto high = static_cast<double>(extent(above->kind, above->samples, above->bytes));
  if (high == low) return Seconds(below->median_s);
  const double share = (static_cast<double>(wanted) - low) / (high - low);
  return Seconds(below->median_s + share * (above->median_s - below->median_s));
}

double PriceTable::draw_variation(const std::string& model, const Work& work, Rng& random) const {
  const auto [below, above] = around(entries_, model, work);
  const ComputeEntry* const nearest = below != nullptr ? below : above;
  if (nearest == nullptr || nearest->raw_s.empty() || nearest->median_s <= 0.0) return 1.0;
  return nearest->raw_s[random.below(nearest->raw_s.size())] / nearest->median_s;
}

double PriceTable::slowdown(const std::string& model, Work::Kind kind) const {
  double alone_s = 0.0;
  double disturbed_s = 0.0;
  for (const ComputeEntry& entry : entries_) {
    if (entry.model != model || entry.kind != kind || entry.disturbed_raw_s.empty()) continue;
    alone_s += entry.median_s;
    disturbed_s += quantile(entry.disturbed_raw_s, 0.5);
  }
  return alone_s > 0.0 ? std::max(1.0, disturbed_s / alone_s) : 1.0;
}

Seconds PriceTable::first_extra(const std::string& model, const Work& work) const {
  double extra_s = 0.0;
  // For a kind that was measured in several sizes, the first execution is split over them.
  for (const ComputeEntry& entry : entries_)
    if (is_of(entry, model, work)) extra_s += std::max(0.0, entry.first_s - entry.median_s);
  return Seconds(extra_s);
}

}  // namespace tandem

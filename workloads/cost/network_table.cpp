#include "workloads/cost/network_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "policies/vocabulary/quantile.hpp"

namespace tandem {
namespace {

using AllReduceEntry = Profile::AllReduceEntry;

/// Time among exactly this number of ranks; nothing if it was not measured.
std::optional<double> all_reduce_s(const std::vector<AllReduceEntry>& all, double AllReduceEntry::*what,
                                   int ranks, double bytes) {
  std::vector<const AllReduceEntry*> entries;
  for (const auto& entry : all)
    if (entry.ranks == ranks) entries.push_back(&entry);
  if (entries.empty()) return std::nullopt;
  const auto size_of = [](const auto* entry) { return static_cast<double>(entry->bytes); };
  if (bytes <= size_of(entries.front())) return entries.front()->*what;
  if (entries.size() == 1) return entries.front()->*what * bytes / size_of(entries.front());
  auto above = entries.begin() + 1;
  while (above + 1 != entries.end() && size_of(*above) < bytes) ++above;
  const auto* low = *(above - 1);
  const auto* high = *above;
  const double slope = (high->*what - low->*what) / (size_of(high) - size_of(low));
  // Beyond the largest measured size, the time is at least that of the largest.
  if (bytes > size_of(high)) return high->*what + std::max(0.0, slope) * (bytes - size_of(high));
  return low->*what + slope * (bytes - size_of(low));
}

/// Interpolated between the measured numbers of ranks.
std::optional<Seconds> time_between(const std::vector<AllReduceEntry>& all, double AllReduceEntry::*what,
                                    int ranks, Bytes size) {
  const AllReduceEntry* fewer = nullptr;
  const AllReduceEntry* more = nullptr;
  for (const auto& entry : all) {
    if (entry.ranks <= ranks && (fewer == nullptr || entry.ranks > fewer->ranks)) fewer = &entry;
    if (entry.ranks >= ranks && (more == nullptr || entry.ranks < more->ranks)) more = &entry;
  }
  if (fewer == nullptr || more == nullptr) return std::nullopt;
  const auto bytes = static_cast<double>(size.count());
  const double low_s = *all_reduce_s(all, what, fewer->ranks, bytes);
  if (more->ranks == fewer->ranks) return Seconds(low_s);
  const double share = static_cast<double>(ranks - fewer->ranks) / (more->ranks - fewer->ranks);
  return Seconds(low_s + share * (*all_reduce_s(all, what, more->ranks, bytes) - low_s));
}

/// By how much the ends of two transfers that start one after the other are further apart than their starts,
/// in bytes of the link, of each measured pair.
std::vector<std::pair<double, double>> gains_of(const std::vector<Profile::OffsetEntry>& offsets) {
  std::vector<std::pair<double, double>> gains;
  for (const auto& entry : offsets) {
    if (entry.transfers != 2 || entry.start_s <= 0.0) continue;
    const double rate = static_cast<double>(entry.bytes) / entry.alone_s;
    for (const auto& ends_s : entry.ends_s)
      gains.emplace_back(ends_s.at(1) - ends_s.at(0) - entry.start_s, rate);
  }
  return gains;
}

}  // namespace

bool NetworkTable::has_all_reduces(int ranks) const { return nearest_all_reduce_ranks(ranks) == ranks; }

int NetworkTable::nearest_all_reduce_ranks(int ranks) const {
  int nearest = 0;
  for (const auto& entry : profile_.all_reduces)
    if (nearest == 0 || std::abs(entry.ranks - ranks) < std::abs(nearest - ranks)) nearest = entry.ranks;
  return nearest;
}

std::optional<Seconds> NetworkTable::all_reduce(int ranks, Bytes size) const {
  return time_between(profile_.all_reduces, &AllReduceEntry::median_s, ranks, size);
}

std::optional<Seconds> NetworkTable::all_reduce_behind(int ranks, Bytes size) const {
  return time_between(profile_.all_reduces, &AllReduceEntry::behind_s, ranks, size);
}

double NetworkTable::draw_all_reduce_variation(int ranks, Bytes size, Rng& random) const {
  const AllReduceEntry* nearest = nullptr;
  for (const auto& entry : profile_.all_reduces)
    if (nearest == nullptr || (entry.ranks <= ranks && entry.bytes <= size.count())) nearest = &entry;
  if (nearest == nullptr || nearest->raw_s.empty() || nearest->median_s <= 0.0) return 1.0;
  return nearest->raw_s[random.below(nearest->raw_s.size())] / nearest->median_s;
}

Seconds NetworkTable::busy_start() const {
  std::vector<double> seconds;
  for (const auto& [gain_s, rate] : gains_of(profile_.offsets)) seconds.push_back(gain_s);
  return Seconds(seconds.empty() ? 0.0 : std::max(0.0, quantile(seconds, 0.5)));
}

double NetworkTable::share_jitter() const {
  std::vector<double> bytes;
  for (const auto& entry : profile_.offsets) {
    if (entry.transfers != 2 || entry.start_s <= 0.0) continue;
    std::vector<double> own;
    for (const auto& [gain_s, rate] : gains_of({entry})) own.push_back(gain_s * rate);
    const double middle = quantile(own, 0.5);
    for (const double gain : own) bytes.push_back(gain - middle);
  }
  if (bytes.empty()) return profile_.share_jitter_bytes;
  // A stall of the machine in one repetition does not change quartiles. Each of two ends varies.
  constexpr double quartiles_of_normal = 1.349;
  return (quantile(bytes, 0.75) - quantile(bytes, 0.25)) / quartiles_of_normal / std::sqrt(2.0);
}

std::optional<double> NetworkTable::older_rate() const {
  std::vector<double> rates;
  for (const auto& entry : profile_.offsets) {
    if (entry.transfers != 2 || entry.start_s <= 0.0) continue;
    for (const auto& ends_s : entry.ends_s) {
      // Both together move two transfers by the last end. The older one has sent start_s of its own before
      // the newer one starts.
      const double own_s = ends_s.at(1) / 2;
      const double shared_s = ends_s.at(0) - entry.start_s;
      const double share = std::clamp((own_s - entry.start_s) / shared_s, 0.0, 0.999);
      if (shared_s > 0.0) rates.push_back(share / (1 - share));
    }
  }
  if (rates.empty()) return std::nullopt;
  return quantile(rates, 0.5);
}

}  // namespace tandem

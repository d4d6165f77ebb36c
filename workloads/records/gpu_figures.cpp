#include "workloads/records/gpu_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tandem {
namespace {

bool has_limit(const GpuRecord& sample, const std::string& word) {
  std::istringstream words(sample.limits);
  for (std::string one; words >> one;)
    if (one == word) return true;
  return false;
}

bool is_throttled(const GpuRecord& sample) {
  return std::ranges::any_of(
      gpu_limits, [&](const GpuLimit& limit) { return limit.throttles && has_limit(sample, limit.word); });
}

using Samples = std::vector<const GpuRecord*>;

/// By rank. Idle samples only where a GPU has no others.
std::map<Rank, Samples> counted_samples(const Journal& journal) {
  std::map<Rank, Samples> all;
  for (const GpuRecord& sample : journal.gpus) all[sample.rank].push_back(&sample);
  for (auto& [rank, samples] : all) {
    Samples busy;
    std::ranges::copy_if(samples, std::back_inserter(busy),
                         [](const GpuRecord* sample) { return !has_limit(*sample, "idle"); });
    if (!busy.empty()) samples = std::move(busy);
  }
  return all;
}

/// None where no sample has the number.
template <class Number>
std::optional<NumberRange<Number>> range_of(const Samples& samples, Number GpuRecord::*figure) {
  double sum = 0.0;
  std::vector<Number> known;
  for (const GpuRecord* sample : samples)
    if (sample->*figure > Number{}) known.push_back(sample->*figure);
  if (known.empty()) return std::nullopt;
  for (const Number value : known) sum += static_cast<double>(value);
  return NumberRange<Number>{.min = std::ranges::min(known),
                             .mean = sum / static_cast<double>(known.size()),
                             .max = std::ranges::max(known)};
}

double share(std::ptrdiff_t part, const Samples& of) {
  return static_cast<double>(part) / static_cast<double>(of.size());
}

std::ptrdiff_t throttled_samples(const Samples& samples) {
  return std::ranges::count_if(samples, [](const GpuRecord* sample) { return is_throttled(*sample); });
}

std::ptrdiff_t limited_samples(const Samples& samples, const GpuLimit& limit) {
  return std::ranges::count_if(samples,
                               [&](const GpuRecord* sample) { return has_limit(*sample, limit.word); });
}

/// " of at most 1980", where the run knows that; else nothing.
std::string of_most_clock(const RunInfo& info, Rank rank) {
  const nlohmann::json::json_pointer place("/gpus/rank " + std::to_string(rank) + "/clock_mhz");
  if (!info.physics.is_object() || !info.physics.contains(place)) return {};
  return fmt::format(" of at most {}", info.physics.at(place).get<int>());
}

}  // namespace

std::vector<GpuSummary> gpu_figures(const RunInfo& info, const Journal& journal) {
  std::vector<GpuSummary> gpus;
  for (const auto& [rank, samples] : counted_samples(journal)) {
    std::map<std::string, double> limits;
    for (const GpuLimit& limit : gpu_limits)
      if (const auto count = limited_samples(samples, limit); count > 0)
        limits[limit.word] = share(count, samples);
    gpus.push_back({.rank = rank,
                    .host = host_of(info, rank),
                    .samples = samples.size(),
                    .clock_mhz = range_of(samples, &GpuRecord::clock_mhz),
                    .memory_clock_mhz = range_of(samples, &GpuRecord::memory_clock_mhz),
                    .power_w = range_of(samples, &GpuRecord::power_w),
                    .temperature_c = range_of(samples, &GpuRecord::temperature_c),
                    .memory_bytes = range_of(samples, &GpuRecord::memory_bytes),
                    .limits = std::move(limits),
                    .throttled = share(throttled_samples(samples), samples)});
  }
  return gpus;
}

std::vector<std::string> throttled_gpus(const RunInfo& info, const Journal& journal) {
  std::vector<std::string> sentences;
  for (const auto& [rank, samples] : counted_samples(journal)) {
    const auto throttled = throttled_samples(samples);
    if (throttled == 0) continue;
    std::string why;
    for (const GpuLimit& limit : gpu_limits)
      if (const auto count = limited_samples(samples, limit); limit.throttles && count > 0)
        why += fmt::format("{}{} ({})", why.empty() ? "" : ", ", limit.meaning, count);
    std::string clocks;
    if (const auto range = range_of(samples, &GpuRecord::clock_mhz))
      clocks = fmt::format("; {} to {}{} MHz", range->min, range->max, of_most_clock(info, rank));
    sentences.push_back(
        fmt::format("the GPU of rank {} on '{}' was throttled at {} of {} samples: {}{}; its times are those "
                    "of a slower GPU",
                    rank, host_of(info, rank), throttled, samples.size(), why, clocks));
  }
  return sentences;
}

}  // namespace tandem

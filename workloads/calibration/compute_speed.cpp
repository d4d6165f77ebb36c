#include "workloads/calibration/compute_speed.hpp"

#include <algorithm>
#include <iterator>

#include "workloads/cost/cost_model.hpp"

namespace tandem {

BytesPerSecond rate_between(std::int64_t small_bytes, double small_s, std::int64_t large_bytes,
                            double large_s) {
  const double added_s = std::max(large_s - small_s, 0.1 * large_s);
  return BytesPerSecond(static_cast<double>(large_bytes - small_bytes) / added_s);
}

ComputeSpeed compute_speed(const std::vector<Profile::ComputeEntry>& entries, const ModelDescription& model) {
  double step_flops = 0;
  double step_s = 0;
  std::vector<Profile::ComputeEntry> updates;
  for (const auto& entry : entries) {
    if (entry.kind == Work::Kind::update) updates.push_back(entry);
    if (entry.kind != Work::Kind::forward && entry.kind != Work::Kind::backward) continue;
    const Flops flops = entry.kind == Work::Kind::forward
                            ? model.forward()
                            : model.buckets.at(static_cast<std::size_t>(entry.bucket)).backward;
    step_flops += flops.count() * entry.samples;
    step_s += entry.median_s;
  }
  const auto by_size = [](const auto& a, const auto& b) { return a.bytes < b.bytes; };
  const auto [small, large] = std::minmax_element(updates.begin(), updates.end(), by_size);
  const BytesPerSecond updated = rate_between(small->bytes, small->median_s, large->bytes, large->median_s);
  return {FlopsPerSecond(step_flops / step_s), BytesPerSecond(streams_of_update * updated.count())};
}

std::optional<ServerCost> own_server_cost(const std::vector<Profile::ComputeEntry>& entries) {
  Seconds fixed{0};
  double byte_s = 0.0;
  for (const Work::Kind kind : {Work::Kind::reduce, Work::Kind::update}) {
    std::vector<Profile::ComputeEntry> measured;
    std::ranges::copy_if(entries, std::back_inserter(measured),
                         [&](const auto& entry) { return entry.kind == kind; });
    if (measured.empty()) return std::nullopt;
    const auto [small, large] = std::ranges::minmax_element(measured, {}, &Profile::ComputeEntry::bytes);
    if (small->bytes == large->bytes) return std::nullopt;
    const BytesPerSecond rate = rate_between(small->bytes, small->median_s, large->bytes, large->median_s);
    byte_s += 1.0 / rate.count();
    fixed += std::max(Seconds(0), Seconds(small->median_s) - Bytes(small->bytes) / rate);
  }
  return ServerCost{.message = fixed / 2.0, .push_rate = BytesPerSecond(1.0 / byte_s)};
}

}  // namespace tandem

// Costs of reads, as options of a policy that chooses the fastest place. So the numbers are part of the
// experiment, and every world and every replay has the same ones.
#pragma once

#include <string>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

/// Names of the options.
namespace rate_option {
inline constexpr const char* memory = "memory_mb_s";
inline constexpr const char* disk = "disk_mb_s";
inline constexpr const char* disk_latency = "disk_latency_us";
inline constexpr const char* peer = "peer_mb_s";
inline constexpr const char* peer_latency = "peer_latency_us";
inline constexpr const char* store = "store_mb_s";
inline constexpr const char* store_latency = "store_latency_us";
}  // namespace rate_option

std::vector<OptionSpec> rate_options();

/// The rates that the options state, or else those of Setting::rates. A peer without a rate is never chosen.
/// Errors: ConfigError if no rate of the store or of a tier is known.
Rates stated_rates(const std::string& policy, const Setting& setting);

}  // namespace tandem::cache

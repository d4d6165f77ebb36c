#include "policies/cache/training/stated_rates.hpp"

#include "policies/vocabulary/check.hpp"

namespace tandem::cache {

namespace option = rate_option;

namespace {

OptionSpec rate(const char* name, const std::string& of) {
  return {name, "bandwidth of " + of + " in MB/s; 0: as the platform file says", 0.0, 0.0};
}
OptionSpec latency(const char* name, const std::string& of) {
  return {name, "latency of " + of + " in microseconds, with its bandwidth", 0.0, 0.0};
}

/// `latency`: null: none.
Rate stated(const Options& options, const char* bandwidth, const char* latency, const Rate* otherwise) {
  const double mb_s = options.real(bandwidth);
  if (mb_s == 0.0) return otherwise == nullptr ? Rate{} : *otherwise;
  return {BytesPerSecond(mb_s * 1e6), Seconds(latency == nullptr ? 0.0 : options.real(latency) * 1e-6)};
}

}  // namespace

std::vector<OptionSpec> rate_options() {
  return {rate(option::memory, "the memory of a cache node"),
          rate(option::disk, "the disk of a cache node"),
          latency(option::disk_latency, "a read from it"),
          rate(option::peer, "the network between two cache nodes"),
          latency(option::peer_latency, "it"),
          rate(option::store, "the store, as one node has it while all read"),
          latency(option::store_latency, "a read from it, while all read")};
}

Rates stated_rates(const std::string& policy, const Setting& setting) {
  const Options& options = setting.options;
  Rates rates;
  const auto known = [&](std::size_t tier) {
    const bool is_known = setting.rates != nullptr && tier < setting.rates->tiers.size();
    return is_known ? &setting.rates->tiers[tier] : nullptr;
  };
  for (std::size_t tier = 0; tier < setting.tiers.size(); ++tier)
    rates.tiers.push_back(tier == 0 ? stated(options, option::memory, nullptr, known(tier))
                                    : stated(options, option::disk, option::disk_latency, known(tier)));
  rates.peer = stated(options, option::peer, option::peer_latency,
                      setting.rates == nullptr ? nullptr : &setting.rates->peer);
  rates.store = stated(options, option::store, option::store_latency,
                       setting.rates == nullptr ? nullptr : &setting.rates->store);
  const auto require = [&](const Rate& rate, const char* name) {
    if (rate.bandwidth > BytesPerSecond(0)) return;
    throw OptionError(policy, name, "a rate above 0, because the platform does not tell one",
                      std::int64_t{0});
  };
  for (std::size_t tier = 0; tier < rates.tiers.size(); ++tier)
    require(rates.tiers[tier], tier == 0 ? option::memory : option::disk);
  require(rates.store, option::store);
  return rates;
}

}  // namespace tandem::cache

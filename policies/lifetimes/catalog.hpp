// The catalogue of lifetime models, and functions that make them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "policies/lifetimes/fates.hpp"
#include "policies/lifetimes/lifetime.hpp"
#include "policies/vocabulary/catalog.hpp"

namespace tandem::lifetimes {

struct Factory {
  /// Without the common options. Null: lifetimes have no distribution of their own, only fates. Errors:
  /// ConfigError.
  std::unique_ptr<Lifetime> (*lifetime)(const Options&) = nullptr;
  /// Null: each occupant's lifetime is drawn from `lifetime`. Errors: ConfigError.
  std::unique_ptr<Fates> (*fates)(const FatesSetting&) = nullptr;
  double lost = 0.0;     ///< default of the option `lost`
  bool is_drawn = true;  ///< another seed gives other lifetimes
};

/// An option that does not change the model itself: it has the models of some hosts, which the caller makes.
inline constexpr const char* by_host_option = "by_host";

/// Every entry has the options `limit`, `minimum`, `lost` and `by_host`.
const Catalog<Factory>& catalog();

/// The lifetime of one machine, with minimum and limit. Errors: ConfigError, also for a model without a
/// distribution of single lifetimes.
std::unique_ptr<Lifetime> make_lifetime(const std::string& name,
                                        const std::map<std::string, OptionValue>& given);
/// The fates of the occupants of `groups.size()` slots. Errors: ConfigError.
std::unique_ptr<Fates> make_fates(const std::string& name, const std::map<std::string, OptionValue>& given,
                                  std::uint64_t seed, const std::vector<std::size_t>& groups);

}  // namespace tandem::lifetimes

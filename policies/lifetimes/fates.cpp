#include "policies/lifetimes/fates.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"

namespace tandem::lifetimes {

void KnownFates::arrive(Occupant occupant, double time) {
  TANDEM_CHECK(!present_.contains(occupant.slot), "slot", occupant.slot);
  TANDEM_CHECK(obtainable(occupant.slot, time) <= time, "slot", occupant.slot, "time", time);
  const Departure departure = departure_of(occupant, time);
  present_[occupant.slot] = departure;
  by_time_.emplace(departure.time, occupant.slot);
}

void KnownFates::depart(std::size_t slot, double time) {
  const auto present = present_.find(slot);
  TANDEM_CHECK(present != present_.end(), "slot", slot, "time", time);
  by_time_.erase({present->second.time, slot});
  present_.erase(present);
}

std::optional<Departure> KnownFates::next() const {
  if (by_time_.empty() || by_time_.begin()->first == infinity) return std::nullopt;
  return present_.at(by_time_.begin()->second);
}

std::optional<Departure> KnownFates::known(std::size_t slot) const {
  const auto found = present_.find(slot);
  return found == present_.end() ? std::nullopt : std::optional(found->second);
}

Rng stream_of(std::uint64_t seed, Occupant occupant) {
  const auto incarnation = static_cast<std::uint64_t>(occupant.incarnation);
  return Rng::stream(seed, "lifetime", (static_cast<std::uint64_t>(occupant.slot) << 32U) + incarnation);
}

CommonRules::CommonRules(const Options& options)
    : limit_(options.real("limit")), minimum_(options.real("minimum")), lost_(options.real("lost")) {
  if (minimum_ > limit_)
    throw ConfigError("lifetime: option 'minimum': expected at most the limit, " + to_text(limit_) +
                      ", found '" + to_text(minimum_) + "'");
}

double CommonRules::bounded(double lifetime) const { return std::clamp(lifetime, minimum_, limit_); }

How CommonRules::how(Rng& rng) const { return rng.uniform() < lost_ ? How::lost : How::revoked; }

}  // namespace tandem::lifetimes

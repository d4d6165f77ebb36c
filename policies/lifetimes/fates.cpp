#include "policies/lifetimes/fates.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"

namespace tandem::lifetimes {

void KnownFates::arrive(Occupant occupant, double time) {
  TANDEM_CHECK(!present_.contains(occupant.slot), "slot", occupant.slot);
  TANDEM_CHECK(obtainable(occupant.slot, time) <= time, "slot", occupant.slot, "time", time);
  present_[occupant.slot] = departure_of(occupant, time);
}

void KnownFates::depart(std::size_t slot, double time) {
  const auto erased = present_.erase(slot);
  TANDEM_CHECK(erased == 1, "slot", slot, "time", time);
}

std::optional<Departure> KnownFates::next() const {
  const Departure* first = nullptr;
  for (const auto& [slot, departure] : present_)
    if (departure.time < (first == nullptr ? infinity : first->time)) first = &departure;
  return first == nullptr ? std::nullopt : std::optional(*first);
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

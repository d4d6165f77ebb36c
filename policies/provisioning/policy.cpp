#include "policies/provisioning/policy.hpp"

#include <functional>
#include <map>

#include "policies/vocabulary/check.hpp"

namespace tandem::provisioning {

Policy::Policy(const Setting& setting) {
  std::map<std::size_t, std::size_t> numbers;
  for (const std::size_t zone : setting.zones)
    slots_.push_back({.zone = numbers.emplace(zone, numbers.size()).first->second});
  zone_count_ = numbers.size();
  TANDEM_CHECK(setting.machines.empty() || setting.machines.size() == slots_.size(), "machines",
               setting.machines.size(), "slots", slots_.size());
  for (std::size_t slot = 0; slot < setting.machines.size(); ++slot)
    slots_[slot].machine = setting.machines[slot];
}

Seconds Policy::earliest(std::size_t, Seconds now) const { return now; }

void Policy::died(std::size_t, Seconds, Seconds) {}

void Policy::arrived(std::size_t slot, Seconds now) {
  slots_.at(slot).state = State::present;
  slots_[slot].since = now;
}

void Policy::departed(std::size_t slot, DepartureKind how, Seconds now) {
  Slot& left = slots_.at(slot);
  const Seconds age = left.state == State::present ? now - left.since : Seconds(0);
  left.occupied += age;
  left.state = State::empty;
  if (how != DepartureKind::left) died(slot, age, now);
}

void Policy::requested(std::size_t slot) { slots_.at(slot).state = State::requested; }
void Policy::request_failed(std::size_t slot) { slots_.at(slot).state = State::empty; }

Seconds Policy::occupied(std::size_t slot, Seconds now) const {
  const Slot& of = slots_.at(slot);
  return of.occupied + (of.state == State::present ? now - of.since : Seconds(0));
}

void Policy::serialise(PolicyState& state) {
  std::vector<int> states;
  for (const Slot& slot : slots_) states.push_back(static_cast<int>(slot.state));
  state.column("provisioned", states, std::identity());
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (states[slot] < 0 || states[slot] > static_cast<int>(State::present))
      throw ConfigError("policy state: expected 'provisioned' from 0 to 2");
    slots_[slot].state = static_cast<State>(states[slot]);
  }
  state.column("provisioned_since", slots_, &Slot::since);
  state.column("provisioned_for", slots_, &Slot::occupied);
}

}  // namespace tandem::provisioning

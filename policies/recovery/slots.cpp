#include "policies/recovery/slots.hpp"

#include <algorithm>
#include <functional>

#include "policies/vocabulary/check.hpp"

namespace tandem::recovery {

Slot& Slots::at(int slot) {
  TANDEM_CHECK(slot >= 0 && static_cast<std::size_t>(slot) < slots_.size(), "slot", slot, "of",
               slots_.size());
  return slots_[static_cast<std::size_t>(slot)];
}

int Slots::members() const {
  return static_cast<int>(std::ranges::count(slots_, SlotState::member, &Slot::state));
}

int Slots::machines() const {
  return static_cast<int>(slots_.size()) -
         static_cast<int>(std::ranges::count(slots_, SlotState::empty, &Slot::state));
}

int Slots::warned() const { return static_cast<int>(std::ranges::count(slots_, true, &Slot::warned)); }

void Slots::serialise(PolicyState& state) {
  std::vector<int> states;
  for (const auto& slot : slots_) states.push_back(static_cast<int>(slot.state));
  state.column("slots", states, std::identity());
  state.column("incarnations", slots_, &Slot::incarnation);
  state.column("warned", slots_, &Slot::warned);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].state = static_cast<SlotState>(states[i]);
    const bool known = states[i] >= 0 && states[i] <= static_cast<int>(SlotState::member);
    if (!known || slots_[i].incarnation < (slots_[i].is_occupied() ? 1 : 0) ||
        (slots_[i].warned && !slots_[i].is_occupied()))
      throw ConfigError("policy state: no slot can be in the state of slot " + std::to_string(i));
  }
}

}  // namespace tandem::recovery

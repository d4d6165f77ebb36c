// The usual factory of a catalogue's entry.
#pragma once

#include <memory>

namespace tandem {

/// A factory, `std::unique_ptr<Base> (*)(const Setting&)`, for a policy that is constructed from the setting.
template <class Made, class Base, class Setting>
std::unique_ptr<Base> make_policy(const Setting& setting) {
  return std::make_unique<Made>(setting);
}

}  // namespace tandem

#include "policies/lifetimes/fates_by_slot.hpp"

#include <utility>

namespace tandem::lifetimes {

std::optional<Departure> FatesBySlot::next() const {
  std::optional<Departure> first;
  const auto order = [](const Departure& one) { return std::pair(one.time, one.occupant.slot); };
  for (const auto& model : models_)
    if (const auto departure = model->next(); departure && (!first || order(*departure) < order(*first)))
      first = departure;
  return first;
}

}  // namespace tandem::lifetimes

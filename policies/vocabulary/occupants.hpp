// How machines depart from the slots of a job: one word for lifetimes, checkpointing and recovery.
#pragma once

#include <array>
#include <cstdint>

#include "policies/vocabulary/choices.hpp"

namespace tandem {

/// How an occupant left its slot: it ended by itself, was revoked after a notice, or was lost without one.
enum class DepartureKind : std::uint8_t { left, revoked, lost };

/// What is known of the machines that a slot can get.
struct SlotMachine {
  double price_per_hour = 0.0;  ///< dollars; 0: not stated
  double speed = 1.0;           ///< of its work, relative to the first slot's
  bool stays = false;           ///< it never departs
  int machine = -1;             ///< its number: slots with the same one depart together; -1: it has its own
  bool operator==(const SlotMachine&) const = default;
};

template <>
inline constexpr std::array<ChoiceName<DepartureKind>, 3> choice_names<DepartureKind> = {
    {{DepartureKind::left, "left"}, {DepartureKind::revoked, "revoked"}, {DepartureKind::lost, "lost"}}};

}  // namespace tandem

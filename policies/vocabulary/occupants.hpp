// How machines depart from the slots of a job: one word for lifetimes, checkpointing and recovery.
#pragma once

#include <array>
#include <cstdint>

#include "policies/vocabulary/choices.hpp"

namespace tandem {

/// How an occupant left its slot: it ended by itself, was revoked after a notice, or was lost without one.
enum class DepartureKind : std::uint8_t { left, revoked, lost };

template <>
inline constexpr std::array<ChoiceName<DepartureKind>, 3> choice_names<DepartureKind> = {
    {{DepartureKind::left, "left"}, {DepartureKind::revoked, "revoked"}, {DepartureKind::lost, "lost"}}};

}  // namespace tandem
